-- Version 1.
--
-- Gives the units of an order back. Products are locked in the order of their ids, as everywhere.
-- Only for whoever has just closed the order in the same transaction: that is what makes it happen once.
CREATE OR REPLACE FUNCTION give_stock_back(p_order_id bigint) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM 1 FROM products p JOIN order_items i ON i.product_id = p.id
    WHERE i.order_id = p_order_id ORDER BY p.id FOR NO KEY UPDATE OF p;

    UPDATE products p SET stock = p.stock + i.quantity
    FROM order_items i
    WHERE i.order_id = p_order_id AND p.id = i.product_id;
END
$$;
