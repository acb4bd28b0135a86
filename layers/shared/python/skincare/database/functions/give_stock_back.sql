-- Version 2.
--
-- Gives the units of an order back. Products are locked in the order of their ids, as everywhere.
-- Only for whoever has just closed the order in the same transaction: that is what makes it happen once.
CREATE OR REPLACE FUNCTION give_stock_back(p_order_id bigint) RETURNS void
LANGUAGE plpgsql
SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    PERFORM 1 FROM products p
    WHERE p.id = ANY (ARRAY(SELECT i.product_id FROM order_items i WHERE i.order_id = p_order_id))
    ORDER BY p.id FOR NO KEY UPDATE;

    UPDATE products p SET stock = p.stock + i.quantity
    FROM order_items i
    WHERE p.id = ANY (ARRAY(SELECT w.product_id FROM order_items w WHERE w.order_id = p_order_id))
        AND i.order_id = p_order_id AND i.product_id = p.id;
END
$$;
