-- Version 2.
--
-- Empties carts that nobody has changed for longer than they are kept, as a change of its own. The cart's row stays: its
-- version says which of them became an order, and must not begin anew. Looks at the p_limit oldest lines from p_after on;
-- arguments and answer as of prune_jobs.
-- The cart's row is the lock on its lines, as everywhere. One that is being changed or checked out is left alone.
CREATE OR REPLACE FUNCTION prune_cart_items(p_limit integer, p_after text DEFAULT NULL)
RETURNS TABLE (removed integer, next text)
LANGUAGE sql SECURITY DEFINER
SET search_path = public, pg_temp SET lock_timeout = '500ms'
SET enable_seqscan = off SET enable_bitmapscan = off SET plan_cache_mode = force_custom_plan AS $$
    WITH looked AS MATERIALIZED (
        SELECT i.user_id, i.added_at FROM cart_items i
        WHERE i.added_at < now() - kept_for('cart_items')
            AND i.added_at >= coalesce(p_after, '-infinity')::timestamptz
        ORDER BY i.added_at LIMIT p_limit
    ), due AS MATERIALIZED (
        SELECT c.user_id FROM carts c
        WHERE c.user_id = ANY (ARRAY(SELECT l.user_id FROM looked l))
            AND c.updated_at < now() - kept_for('cart_items')
        ORDER BY c.user_id FOR NO KEY UPDATE SKIP LOCKED
    ), emptied AS (
        UPDATE carts c SET version = c.version + 1, order_number = NULL
        WHERE c.user_id = ANY (ARRAY(SELECT d.user_id FROM due d))
    ), gone AS (
        DELETE FROM cart_items i WHERE i.user_id = ANY (ARRAY(SELECT d.user_id FROM due d)) RETURNING 1
    )
    SELECT (SELECT count(*) FROM gone)::integer, (
        SELECT max(l.added_at)::text FROM looked l
        HAVING count(*) = p_limit AND max(l.added_at) > coalesce(p_after, '-infinity')::timestamptz
    )
$$;
REVOKE EXECUTE ON FUNCTION prune_cart_items(integer, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION prune_cart_items(integer, text) TO app;
