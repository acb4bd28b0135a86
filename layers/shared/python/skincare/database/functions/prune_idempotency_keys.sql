-- Version 2.
--
-- Forgets idempotency keys that are older than they are kept; their orders stay. Arguments and answer as of prune_jobs;
-- each step begins with the oldest.
CREATE OR REPLACE FUNCTION prune_idempotency_keys(p_limit integer, p_after text DEFAULT NULL)
RETURNS TABLE (removed integer, next text)
LANGUAGE sql SECURITY DEFINER
SET search_path = public, pg_temp SET lock_timeout = '500ms'
SET enable_seqscan = off SET enable_bitmapscan = off SET plan_cache_mode = force_custom_plan AS $$
    WITH due AS MATERIALIZED (
        SELECT k.user_id, k.key FROM idempotency_keys k
        WHERE k.created_at < now() - kept_for('idempotency_keys')
        ORDER BY k.created_at LIMIT p_limit FOR UPDATE SKIP LOCKED
    ), gone AS (
        DELETE FROM idempotency_keys k USING due d WHERE k.user_id = d.user_id AND k.key = d.key RETURNING 1
    )
    SELECT count(*)::integer, CASE WHEN count(*) = p_limit THEN '' END FROM gone
$$;
REVOKE EXECUTE ON FUNCTION prune_idempotency_keys(integer, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION prune_idempotency_keys(integer, text) TO app;
