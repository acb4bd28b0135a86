-- Version 2.
--
-- Removes reconciliations that ended longer ago than they are kept. Arguments and answer as of
-- prune_idempotency_keys.
CREATE OR REPLACE FUNCTION prune_reconciliation_runs(p_limit integer, p_after text DEFAULT NULL)
RETURNS TABLE (removed integer, next text)
LANGUAGE sql SECURITY DEFINER
SET search_path = public, pg_temp SET lock_timeout = '500ms'
SET enable_seqscan = off SET enable_bitmapscan = off SET plan_cache_mode = force_custom_plan AS $$
    WITH due AS MATERIALIZED (
        SELECT r.id FROM reconciliation_runs r WHERE r.finished_at < now() - kept_for('reconciliation_runs')
        ORDER BY r.finished_at LIMIT p_limit FOR UPDATE SKIP LOCKED
    ), gone AS (
        DELETE FROM reconciliation_runs r USING due d WHERE r.id = d.id RETURNING 1
    )
    SELECT count(*)::integer, CASE WHEN count(*) = p_limit THEN '' END FROM gone
$$;
REVOKE EXECUTE ON FUNCTION prune_reconciliation_runs(integer, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION prune_reconciliation_runs(integer, text) TO app;
