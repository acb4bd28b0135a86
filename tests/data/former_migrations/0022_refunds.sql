-- Each time that more of an order's money has gone back: what the customer is told, once. Written under the lock of the
-- order; `returned_rupiah` is all that went back so far, of every payment.
CREATE TABLE order_refunds (
    order_id bigint NOT NULL REFERENCES orders,
    refund_no integer NOT NULL CHECK (refund_no >= 1),
    amount_rupiah bigint NOT NULL CHECK (amount_rupiah > 0),
    returned_rupiah bigint NOT NULL CHECK (returned_rupiah >= amount_rupiah),
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (order_id, refund_no),
    CONSTRAINT order_refunds_told_once UNIQUE (order_id, returned_rupiah)
);
REVOKE UPDATE, DELETE ON order_refunds FROM app;

-- What went back before is old news: nobody is told of it now.
INSERT INTO order_refunds (order_id, refund_no, amount_rupiah, returned_rupiah)
SELECT order_id, 1, sum(refunded_rupiah), sum(refunded_rupiah)
FROM payments GROUP BY order_id HAVING sum(refunded_rupiah) > 0;

-- Whose goods do not come back to the shelf, though their money goes back.
ALTER TABLE refunds ADD COLUMN keep_stock boolean NOT NULL DEFAULT false;

-- When the units of a refunded order were given back; NULL while they are the order's.
ALTER TABLE orders ADD COLUMN restocked_at timestamptz;

-- Gives the units of an order back whose money went back whole: once, and not where one of its refunds says that the
-- goods are gone, whichever payment it was of. Only a refused refund says nothing. Answers whether this call did it. Only for whoever holds the order's lock.
CREATE FUNCTION restock_order(p_order_id bigint) RETURNS boolean
LANGUAGE plpgsql AS $$
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

-- Takes the units of an order again that were given back, all of them or none: its money has come to light after all.
-- Answers whether the order has its units. Only for whoever holds the order's lock.
CREATE FUNCTION take_stock_again(p_order_id bigint) RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM 1 FROM orders o WHERE o.id = p_order_id AND o.restocked_at IS NOT NULL;
    IF NOT FOUND THEN
        RETURN true;
    END IF;

    PERFORM 1 FROM products p JOIN order_items i ON i.product_id = p.id
    WHERE i.order_id = p_order_id ORDER BY p.id FOR NO KEY UPDATE OF p;
    IF EXISTS (
        SELECT 1 FROM products p JOIN order_items i ON i.product_id = p.id
        WHERE i.order_id = p_order_id AND p.stock < i.quantity
    ) THEN
        RETURN false;
    END IF;

    UPDATE products p SET stock = p.stock - i.quantity
    FROM order_items i
    WHERE i.order_id = p_order_id AND p.id = i.product_id;
    UPDATE orders SET restocked_at = NULL WHERE id = p_order_id;
    RETURN true;
END
$$;
