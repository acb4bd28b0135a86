-- Version 2.
--
-- Puts the hash in the place of what a gateway sent, for events that are older than that is kept and that wait for
-- nobody. All that was read from a body stays, and so does the event. Arguments and answer as of
-- prune_idempotency_keys.
CREATE OR REPLACE FUNCTION prune_payment_event_bodies(p_limit integer, p_after text DEFAULT NULL)
RETURNS TABLE (removed integer, next text)
LANGUAGE sql SECURITY DEFINER
SET search_path = public, pg_temp SET lock_timeout = '500ms'
SET enable_seqscan = off SET enable_bitmapscan = off SET plan_cache_mode = force_custom_plan AS $$
    WITH due AS MATERIALIZED (
        SELECT e.id FROM payment_events e
        WHERE e.body IS NOT NULL AND e.received_at < now() - kept_for('payment_events.body')
            AND (e.state IN ('applied', 'ignored') OR (e.state = 'quarantined' AND e.reviewed_at IS NOT NULL))
        ORDER BY e.received_at LIMIT p_limit FOR NO KEY UPDATE SKIP LOCKED
    ), gone AS (
        UPDATE payment_events e SET body_sha256 = sha256(e.body), body = NULL FROM due d WHERE e.id = d.id RETURNING 1
    )
    SELECT count(*)::integer, CASE WHEN count(*) = p_limit THEN '' END FROM gone
$$;
REVOKE EXECUTE ON FUNCTION prune_payment_event_bodies(integer, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION prune_payment_event_bodies(integer, text) TO app;
