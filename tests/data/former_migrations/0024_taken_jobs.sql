-- When a relay last took the job. The take leaves publish_at alone: since when a job is due stays known until a send
-- succeeds, and lateness is counted from there. A take is over after a minute, or when publish_at was written since.
--
-- A release that does not know this column takes by moving publish_at; both get along, and at worst a message is sent
-- twice.
ALTER TABLE jobs ADD COLUMN taken_at timestamptz;

-- A cancelled job may be brought back by a person; it then waits to be published like a new one.
CREATE OR REPLACE FUNCTION jobs_refuse_illegal_move() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
    IF NOT (CASE OLD.state
        WHEN 'pending' THEN NEW.state IN ('queued', 'processing', 'dead_letter', 'cancelled')
        WHEN 'queued' THEN NEW.state IN ('processing', 'dead_letter', 'cancelled')
        WHEN 'retry_waiting' THEN NEW.state IN ('processing', 'dead_letter', 'cancelled')
        WHEN 'processing' THEN NEW.state IN ('completed', 'retry_waiting', 'dead_letter', 'queued', 'cancelled')
        WHEN 'dead_letter' THEN NEW.state IN ('investigated', 'processing', 'cancelled')
        WHEN 'investigated' THEN NEW.state IN ('pending', 'processing', 'cancelled')
        WHEN 'cancelled' THEN NEW.state = 'pending'
        ELSE false
    END) THEN
        RAISE EXCEPTION 'job % cannot move from % to %', OLD.id, OLD.state, NEW.state
            USING ERRCODE = 'check_violation', CONSTRAINT = 'jobs_legal_moves';
    END IF;
    RETURN NEW;
END
$$;
