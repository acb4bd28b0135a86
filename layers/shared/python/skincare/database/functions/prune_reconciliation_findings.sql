-- Version 2.
--
-- Removes findings that have been gone for longer than they are kept; never one that is still there, for its number and
-- that somebody settled it would be forgotten. Arguments and answer as of prune_idempotency_keys.
CREATE OR REPLACE FUNCTION prune_reconciliation_findings(p_limit integer, p_after text DEFAULT NULL)
RETURNS TABLE (removed integer, next text)
LANGUAGE sql SECURITY DEFINER
SET search_path = public, pg_temp SET lock_timeout = '500ms'
SET enable_seqscan = off SET enable_bitmapscan = off SET plan_cache_mode = force_custom_plan AS $$
    WITH due AS MATERIALIZED (
        SELECT r.id FROM reconciliation_findings r WHERE r.gone_at < now() - kept_for('reconciliation_findings')
        ORDER BY r.gone_at LIMIT p_limit FOR UPDATE SKIP LOCKED
    ), gone AS (
        DELETE FROM reconciliation_findings r USING due d WHERE r.id = d.id RETURNING 1
    )
    SELECT count(*)::integer, CASE WHEN count(*) = p_limit THEN '' END FROM gone
$$;
REVOKE EXECUTE ON FUNCTION prune_reconciliation_findings(integer, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION prune_reconciliation_findings(integer, text) TO app;
