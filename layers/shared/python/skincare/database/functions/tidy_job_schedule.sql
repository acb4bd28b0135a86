-- Version 1.
--
-- Puts up to p_limit rows of the schedule right whose time has come though their job's has not, and answers how many. A job
-- that was put off is looked at again at its publish_at, and one that is finished or gone never. Whoever brings a
-- publish_at nearer meanwhile writes a row of their own. The settings are those of take_due_jobs.
CREATE OR REPLACE FUNCTION tidy_job_schedule(p_limit integer) RETURNS bigint
LANGUAGE plpgsql
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    v_tidied bigint;
BEGIN
    WITH early AS MATERIALIZED (
        SELECT s.look_at, s.job_id, j.publish_at FROM job_schedule s LEFT JOIN jobs j ON j.id = s.job_id
        WHERE s.look_at <= now() AND (j.publish_at IS NULL OR j.publish_at > now())
        ORDER BY s.look_at LIMIT p_limit FOR UPDATE OF s SKIP LOCKED
    ), again AS (
        INSERT INTO job_schedule (look_at, job_id)
        SELECT e.publish_at, e.job_id FROM early e WHERE e.publish_at IS NOT NULL ON CONFLICT DO NOTHING
    )
    DELETE FROM job_schedule s USING early e WHERE s.look_at = e.look_at AND s.job_id = e.job_id;
    GET DIAGNOSTICS v_tidied = ROW_COUNT;
    RETURN v_tidied;
END
$$;
