-- Version 2.
--
-- At most one unfinished job has a key: enqueue_job takes it, the end of the job frees it, and a job that is brought
-- back takes it again. A second one is refused by the primary key of job_keys. A dead job keeps its key, for its
-- redrive must find it free.
CREATE OR REPLACE FUNCTION jobs_keep_keys() RETURNS trigger
LANGUAGE plpgsql
SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    IF NEW.publish_at IS NULL THEN
        DELETE FROM job_keys WHERE unique_key = NEW.unique_key AND job_id = NEW.id;
    ELSE
        INSERT INTO job_keys (unique_key, job_id) VALUES (NEW.unique_key, NEW.id);
    END IF;
    RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER jobs_end_or_return AFTER UPDATE ON jobs
FOR EACH ROW WHEN (NEW.unique_key IS NOT NULL AND (OLD.publish_at IS NULL) <> (NEW.publish_at IS NULL))
EXECUTE FUNCTION jobs_keep_keys();
