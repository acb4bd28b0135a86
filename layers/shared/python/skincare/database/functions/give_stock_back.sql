-- Version 3.
--
-- Gives the units back that an order still holds: not those that were shipped. Products are locked in the order of
-- their ids, as everywhere. Only for whoever has just closed the order in the same transaction, or has its lock.
CREATE OR REPLACE FUNCTION give_stock_back(p_order_id bigint) RETURNS void
LANGUAGE plpgsql
SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    PERFORM 1 FROM products p
    WHERE p.id = ANY (ARRAY(SELECT i.product_id FROM order_items i WHERE i.order_id = p_order_id))
    ORDER BY p.id FOR NO KEY UPDATE;

    WITH held AS MATERIALIZED (
        SELECT m.product_id, sum(m.reserved_delta)::integer AS units FROM stock_movements m
        WHERE m.order_id = p_order_id GROUP BY m.product_id HAVING sum(m.reserved_delta) > 0
    ), given AS (
        UPDATE products p SET stock = p.stock + h.units, stock_version = p.stock_version + 1
        FROM held h
        WHERE p.id = ANY (ARRAY(SELECT w.product_id FROM held w)) AND p.id = h.product_id
    )
    INSERT INTO stock_movements (product_id, on_hand_delta, reserved_delta, reason, order_id, moved_by)
    SELECT h.product_id, 0, -h.units, 'given_back', p_order_id, 'shop' FROM held h ORDER BY h.product_id;
END
$$;
