-- Version 2.
--
-- Which jobs are dead, without an index on a state that every job passes through.
CREATE OR REPLACE FUNCTION jobs_keep_dead() RETURNS trigger
LANGUAGE plpgsql
SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    IF NEW.state = 'dead_letter' THEN
        INSERT INTO dead_jobs (job_id) VALUES (NEW.id) ON CONFLICT DO NOTHING;
    ELSE
        DELETE FROM dead_jobs WHERE job_id = NEW.id;
    END IF;
    RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER jobs_new_dead AFTER INSERT ON jobs
FOR EACH ROW WHEN (NEW.state = 'dead_letter') EXECUTE FUNCTION jobs_keep_dead();

CREATE OR REPLACE TRIGGER jobs_dead_or_back AFTER UPDATE ON jobs
FOR EACH ROW WHEN ((OLD.state = 'dead_letter') <> (NEW.state = 'dead_letter')) EXECUTE FUNCTION jobs_keep_dead();
