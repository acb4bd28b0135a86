-- Version 2.
--
-- Cancels an order that is not paid, gives its stock back and calls off its timer: once, exactly the reserved units.
-- Answers the order's status afterwards and whether this call did it; no row where the caller has no such order.
CREATE OR REPLACE FUNCTION cancel_order(p_user_id text, p_order_number text)
RETURNS TABLE (status text, cancelled boolean)
LANGUAGE plpgsql
SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
DECLARE
    v_order_id bigint;
BEGIN
    UPDATE orders o SET status = 'cancelled', cancelled_at = now()
    WHERE o.user_id = p_user_id AND o.order_number = p_order_number AND o.status = 'pending'
    RETURNING o.id INTO v_order_id;

    IF v_order_id IS NOT NULL THEN
        PERFORM give_stock_back(v_order_id);
        PERFORM cancel_timer('expire_order:' || p_order_number);
    END IF;

    RETURN QUERY
    SELECT o.status, v_order_id IS NOT NULL
    FROM orders o WHERE o.user_id = p_user_id AND o.order_number = p_order_number;
END
$$;
