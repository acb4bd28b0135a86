-- Version 1.
--
-- Opens an order's next attempt, for its total and until its end, and answers it; no row where that end is nearer than
-- p_shortest. Only for whoever holds the order's lock. The settings are those of record_notification.
CREATE OR REPLACE FUNCTION open_payment_attempt(p_order_id bigint, p_gateway text, p_shortest interval)
RETURNS SETOF payment_attempts
LANGUAGE plpgsql
SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    RETURN QUERY
    INSERT INTO payment_attempts AS a (order_id, attempt_no, gateway, amount_rupiah, expires_at)
    SELECT o.id, coalesce((SELECT max(b.attempt_no) FROM payment_attempts b WHERE b.order_id = p_order_id), 0) + 1,
        p_gateway, o.total_rupiah, o.expires_at
    FROM orders o WHERE o.id = p_order_id AND o.expires_at >= now() + p_shortest
    RETURNING a.*;
END
$$;
