-- Version 2.
--
-- A job that is deleted takes its attempts, its key and its death along; its row of the schedule goes when it is met.
-- Only so may attempts be deleted, which is why this runs as their owner.
CREATE OR REPLACE FUNCTION jobs_take_their_rows_along() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = public, pg_temp SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    DELETE FROM job_attempts a WHERE a.job_id = ANY (ARRAY(SELECT g.id FROM gone g));
    DELETE FROM job_keys k USING gone g
    WHERE k.unique_key = ANY (ARRAY(SELECT w.unique_key FROM gone w)) AND k.unique_key = g.unique_key AND k.job_id = g.id;
    DELETE FROM dead_jobs d WHERE d.job_id = ANY (ARRAY(SELECT g.id FROM gone g));
    RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER jobs_deleted AFTER DELETE ON jobs REFERENCING OLD TABLE AS gone
FOR EACH STATEMENT EXECUTE FUNCTION jobs_take_their_rows_along();
