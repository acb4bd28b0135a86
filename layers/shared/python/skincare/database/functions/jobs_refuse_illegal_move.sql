-- Version 3.
--
-- Only a backstop: every statement names the states it expects in its WHERE. A cancelled job may be brought back by a
-- person; it then waits to be published like a new one.
-- The moves stand in the condition, so that a legal one calls nothing; and behind the update, for a trigger in front of
-- it has every row locked in a step of its own.
CREATE OR REPLACE FUNCTION jobs_refuse_illegal_move() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'job % cannot move from % to %', OLD.id, OLD.state, NEW.state
        USING ERRCODE = 'check_violation', CONSTRAINT = 'jobs_legal_moves';
END
$$;

CREATE OR REPLACE TRIGGER jobs_legal_moves AFTER UPDATE OF state ON jobs
FOR EACH ROW WHEN (OLD.state <> NEW.state AND NOT CASE OLD.state
    WHEN 'pending' THEN NEW.state IN ('queued', 'processing', 'dead_letter', 'cancelled')
    WHEN 'queued' THEN NEW.state IN ('processing', 'dead_letter', 'cancelled')
    WHEN 'retry_waiting' THEN NEW.state IN ('processing', 'dead_letter', 'cancelled')
    WHEN 'processing' THEN NEW.state IN ('completed', 'retry_waiting', 'dead_letter', 'queued', 'cancelled')
    WHEN 'dead_letter' THEN NEW.state IN ('pending', 'processing', 'cancelled')
    WHEN 'cancelled' THEN NEW.state = 'pending'
    ELSE false
END) EXECUTE FUNCTION jobs_refuse_illegal_move();
