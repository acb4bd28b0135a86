-- Version 1.
--
-- A job that is deleted takes its attempts, its key and its death along; its row of the schedule goes when it is met.
-- Only so may attempts be deleted, which is why this runs as their owner.
CREATE OR REPLACE FUNCTION jobs_take_their_rows_along() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    DELETE FROM job_attempts a USING gone g WHERE a.job_id = g.id;
    DELETE FROM job_keys k USING gone g WHERE k.unique_key = g.unique_key AND k.job_id = g.id;
    DELETE FROM dead_jobs d USING gone g WHERE d.job_id = g.id;
    RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER jobs_deleted AFTER DELETE ON jobs REFERENCING OLD TABLE AS gone
FOR EACH STATEMENT EXECUTE FUNCTION jobs_take_their_rows_along();
