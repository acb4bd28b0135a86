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
    -- A timer exists once and can be called off: at most one unfinished job has a key.
    unique_key text CHECK (length(unique_key) BETWEEN 1 AND 200),
    order_number text,
    request_id text,
    -- The trace of X-Ray that the job's request belongs to.
    trace_id text CHECK (length(trace_id) BETWEEN 1 AND 100),
    created_at timestamptz NOT NULL DEFAULT now(),
    run_at timestamptz,
    -- When the job must next be put on SQS unless something happens first; NULL means never.
    publish_at timestamptz,
    -- When a relay last took the job. The take leaves publish_at alone: since when a job is due stays known until a
    -- send succeeds, and lateness is counted from there. A take is over after a minute, or when publish_at was written
    -- since.
    taken_at timestamptz,
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
    -- Which release ran the job last, also when it took its process down: "since the deploy" is the first question.
    release text,
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
-- A dead job keeps its key: its redrive must find it free. That a job is unfinished is read from publish_at, which
-- changes with the state anyway and has an index already; rows without a key cost nothing.
CREATE UNIQUE INDEX jobs_unique_key_idx ON jobs (unique_key) WHERE unique_key IS NOT NULL AND publish_at IS NOT NULL;
-- What is counted each minute must cost nothing while there is nothing to count.
CREATE INDEX jobs_dead_idx ON jobs (last_failed_at) WHERE state IN ('dead_letter', 'investigated');

CREATE TABLE job_attempts (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    job_id uuid NOT NULL REFERENCES jobs ON DELETE CASCADE,
    started_at timestamptz NOT NULL,
    finished_at timestamptz NOT NULL DEFAULT now(),
    outcome text NOT NULL CHECK (outcome IN ('completed', 'retry', 'dead_letter', 'crashed')),
    error_class text,
    error_message text,
    release text,
    CHECK ((outcome = 'completed') = (error_class IS NULL))
);
CREATE INDEX job_attempts_job_id_idx ON job_attempts (job_id);
REVOKE UPDATE, DELETE ON job_attempts FROM app;
