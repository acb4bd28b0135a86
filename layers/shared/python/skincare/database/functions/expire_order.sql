-- Version 2.
--
-- Expires an order that nobody paid in time and gives its stock back, once. Answers 'expired', 'waits' or, where the
-- order is not pending any more, its status; NULL where there is none.
-- It waits while the gateway's word that it is paid lies here unapplied, and where payments were started that the
-- caller did not ask about: p_attempts is how many it knows. It waits as well for a paid event that was quarantined
-- until a person has looked at it: what our gateway never confirmed, or what names another merchant, may be money all
-- the same.
CREATE OR REPLACE FUNCTION expire_order(p_order_number text, p_attempts bigint) RETURNS text
LANGUAGE plpgsql
SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    v_order_id bigint;
    v_status text;
BEGIN
    SELECT o.id, o.status INTO v_order_id, v_status FROM orders o
    WHERE o.order_number = p_order_number FOR UPDATE;
    IF v_status IS DISTINCT FROM 'pending' THEN
        RETURN v_status;
    END IF;

    IF EXISTS (
        SELECT 1 FROM payment_events e
        WHERE e.order_number = p_order_number AND e.status = 'paid'
            AND (e.state = 'received' OR (e.state = 'quarantined' AND e.reviewed_at IS NULL))
    ) OR (SELECT count(*) FROM payment_attempts a WHERE a.order_id = v_order_id) <> p_attempts THEN
        RETURN 'waits';
    END IF;

    UPDATE orders o SET status = 'expired', expired_at = now() WHERE o.id = v_order_id;
    PERFORM give_stock_back(v_order_id);
    RETURN 'expired';
END
$$;
