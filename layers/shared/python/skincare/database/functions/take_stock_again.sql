-- Version 2.
--
-- Takes the units of an order again that were given back, all of them or none: its money has come to light after all.
-- Answers whether the order has its units. Only for whoever holds the order's lock.
CREATE OR REPLACE FUNCTION take_stock_again(p_order_id bigint) RETURNS boolean
LANGUAGE plpgsql
SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    PERFORM 1 FROM orders o WHERE o.id = p_order_id AND o.restocked_at IS NOT NULL;
    IF NOT FOUND THEN
        RETURN true;
    END IF;

    PERFORM 1 FROM products p
    WHERE p.id = ANY (ARRAY(SELECT i.product_id FROM order_items i WHERE i.order_id = p_order_id))
    ORDER BY p.id FOR NO KEY UPDATE;
    IF EXISTS (
        SELECT FROM products p JOIN order_items i ON i.product_id = p.id AND i.order_id = p_order_id
        WHERE p.id = ANY (ARRAY(SELECT w.product_id FROM order_items w WHERE w.order_id = p_order_id))
            AND p.stock < i.quantity
    ) THEN
        RETURN false;
    END IF;

    UPDATE products p SET stock = p.stock - i.quantity
    FROM order_items i
    WHERE p.id = ANY (ARRAY(SELECT w.product_id FROM order_items w WHERE w.order_id = p_order_id))
        AND i.order_id = p_order_id AND i.product_id = p.id;
    UPDATE orders SET restocked_at = NULL WHERE id = p_order_id;
    RETURN true;
END
$$;
