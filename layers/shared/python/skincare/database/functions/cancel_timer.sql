-- Version 3.
--
-- Calls off the unfinished job of a key; one that runs finishes, and its settle hits no row.
CREATE OR REPLACE FUNCTION cancel_timer(p_unique_key text) RETURNS boolean
LANGUAGE plpgsql
SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    UPDATE jobs j SET state = 'cancelled', publish_at = NULL, retry_at = NULL, finished_at = now(),
        lease_token = NULL, leased_at = NULL, lease_until = NULL
    WHERE j.id = (SELECT k.job_id FROM job_keys k WHERE k.unique_key = p_unique_key) AND j.publish_at IS NOT NULL;
    RETURN FOUND;
END
$$;
