-- Version 2.
--
-- Gives the units of an order back whose money went back whole: once, and not where one of its refunds says that the
-- goods are gone, whichever payment it was of. Only a refused refund says nothing. Answers whether this call did it.
-- Only for whoever holds the order's lock.
CREATE OR REPLACE FUNCTION restock_order(p_order_id bigint) RETURNS boolean
LANGUAGE plpgsql
SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    UPDATE orders o SET restocked_at = now()
    WHERE o.id = p_order_id AND o.status = 'refunded' AND o.restocked_at IS NULL AND NOT EXISTS (
        SELECT 1 FROM refunds r WHERE r.order_id = o.id AND r.keep_stock AND r.state <> 'refused'
    );
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    PERFORM give_stock_back(p_order_id);
    RETURN true;
END
$$;
