-- Version 3.
--
-- Takes the units of an order again that were given back, all of them or none: its money has come to light after all.
-- Answers whether the order has its units. Only for whoever holds the order's lock.
CREATE OR REPLACE FUNCTION take_stock_again(p_order_id bigint) RETURNS boolean
LANGUAGE plpgsql
SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    v_taken boolean;
BEGIN
    PERFORM 1 FROM orders o WHERE o.id = p_order_id AND o.restocked_at IS NOT NULL;
    IF NOT FOUND THEN
        RETURN true;
    END IF;

    PERFORM 1 FROM products p
    WHERE p.id = ANY (ARRAY(SELECT i.product_id FROM order_items i WHERE i.order_id = p_order_id))
    ORDER BY p.id FOR NO KEY UPDATE;

    WITH moved AS MATERIALIZED (
        SELECT m.product_id, sum(m.reserved_delta) AS units FROM stock_movements m
        WHERE m.order_id = p_order_id AND m.reason <> 'shipped' GROUP BY m.product_id
    ), needed AS MATERIALIZED (
        SELECT i.product_id, (i.quantity - coalesce(m.units, 0))::integer AS units
        FROM order_items i LEFT JOIN moved m ON m.product_id = i.product_id
        WHERE i.order_id = p_order_id AND i.quantity > coalesce(m.units, 0)
    ), taken AS (
        UPDATE products p SET stock = p.stock - n.units, stock_version = p.stock_version + 1
        FROM needed n
        WHERE p.id = ANY (ARRAY(SELECT w.product_id FROM needed w)) AND p.id = n.product_id AND NOT EXISTS (
            SELECT FROM needed s JOIN products q ON q.id = s.product_id
            WHERE q.id = ANY (ARRAY(SELECT w.product_id FROM needed w)) AND q.stock < s.units
        )
        RETURNING n.product_id, n.units
    ), written AS (
        INSERT INTO stock_movements (product_id, on_hand_delta, reserved_delta, reason, order_id, moved_by)
        SELECT t.product_id, 0, t.units, 'sold', p_order_id, 'shop' FROM taken t ORDER BY t.product_id
    )
    SELECT (SELECT count(*) FROM taken) = (SELECT count(*) FROM needed) INTO v_taken;
    IF v_taken THEN
        UPDATE orders SET restocked_at = NULL WHERE id = p_order_id;
    END IF;
    RETURN v_taken;
END
$$;
