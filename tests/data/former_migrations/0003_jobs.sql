-- Outbox and ledger in one table: SQS carries the work, this table knows the truth about it.
-- docs/job-lifecycle.md explains the columns and every move.
CREATE TABLE jobs (
    id uuid PRIMARY KEY,
    job_type text NOT NULL CHECK (length(job_type) BETWEEN 1 AND 100),
    queue text NOT NULL CHECK (length(queue) BETWEEN 1 AND 80),
    payload jsonb NOT NULL CHECK (jsonb_typeof(payload) = 'object'),
    state text NOT NULL DEFAULT 'pending' CHECK (state IN (
        'pending', 'queued', 'processing', 'retry_waiting', 'completed', 'dead_letter', 'investigated', 'cancelled'
    )),
    order_number text,
    request_id text,
    created_at timestamptz NOT NULL DEFAULT now(),
    run_at timestamptz,
    -- When the job must next be put on SQS unless something happens first; NULL means never.
    publish_at timestamptz,
    -- Messages sent since the last claim or redrive: the wait before the next re-send doubles with it.
    sends integer NOT NULL DEFAULT 0 CHECK (sends >= 0),
    attempts integer NOT NULL DEFAULT 0 CHECK (attempts >= 0),
    crashes integer NOT NULL DEFAULT 0 CHECK (crashes >= 0),
    -- Counted from here: the last redrive, run_at or the insert.
    budget_from timestamptz NOT NULL DEFAULT now(),
    retry_at timestamptz,
    lease_token uuid,
    leased_at timestamptz,
    lease_until timestamptz,
    -- Raised by one at each dead-lettering; a copy on SQS that carries an older number is waste.
    dead_letter_no integer NOT NULL DEFAULT 0 CHECK (dead_letter_no >= 0),
    first_failed_at timestamptz,
    last_failed_at timestamptz,
    error_class text,
    error_message text,
    finished_at timestamptz,
    CONSTRAINT jobs_leased_while_processing CHECK (
        (state = 'processing') = (lease_token IS NOT NULL AND lease_until IS NOT NULL AND leased_at IS NOT NULL)
    ),
    CONSTRAINT jobs_live_or_dead_are_published CHECK (
        (state IN ('completed', 'cancelled')) = (publish_at IS NULL)
    )
);
CREATE INDEX jobs_publish_at_idx ON jobs (publish_at) WHERE publish_at IS NOT NULL;
CREATE INDEX jobs_order_number_idx ON jobs (order_number) WHERE order_number IS NOT NULL;
CREATE INDEX jobs_created_at_idx ON jobs (created_at);

CREATE TABLE job_attempts (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    job_id uuid NOT NULL REFERENCES jobs ON DELETE CASCADE,
    started_at timestamptz NOT NULL,
    finished_at timestamptz NOT NULL DEFAULT now(),
    outcome text NOT NULL CHECK (outcome IN ('completed', 'retry', 'dead_letter', 'crashed')),
    error_class text,
    error_message text,
    CHECK ((outcome = 'completed') = (error_class IS NULL))
);
CREATE INDEX job_attempts_job_id_idx ON job_attempts (job_id);

-- How long after a send a job that was not heard of is sent again: 1 h, doubling per re-send up to 24 h.
-- Longer than six function timeouts of any queue, so that the message itself has had its chance.
CREATE FUNCTION rescue_delay(sends integer) RETURNS interval
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN least(interval '1 hour' * power(2, least(sends, 5)), interval '24 hours');

-- Only a backstop: every statement names the states it expects in its WHERE.
CREATE FUNCTION jobs_refuse_illegal_move() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
    IF NOT (CASE OLD.state
        WHEN 'pending' THEN NEW.state IN ('queued', 'processing', 'dead_letter', 'cancelled')
        WHEN 'queued' THEN NEW.state IN ('processing', 'dead_letter', 'cancelled')
        WHEN 'retry_waiting' THEN NEW.state IN ('processing', 'dead_letter', 'cancelled')
        WHEN 'processing' THEN NEW.state IN ('completed', 'retry_waiting', 'dead_letter', 'queued', 'cancelled')
        WHEN 'dead_letter' THEN NEW.state IN ('investigated', 'processing', 'cancelled')
        WHEN 'investigated' THEN NEW.state IN ('pending', 'processing', 'cancelled')
        ELSE false
    END) THEN
        RAISE EXCEPTION 'job % cannot move from % to %', OLD.id, OLD.state, NEW.state
            USING ERRCODE = 'check_violation', CONSTRAINT = 'jobs_legal_moves';
    END IF;
    RETURN NEW;
END
$$;

CREATE TRIGGER jobs_legal_moves BEFORE UPDATE OF state ON jobs
FOR EACH ROW WHEN (OLD.state IS DISTINCT FROM NEW.state) EXECUTE FUNCTION jobs_refuse_illegal_move();
