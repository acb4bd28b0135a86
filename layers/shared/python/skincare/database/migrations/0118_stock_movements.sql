-- Stock becomes a ledger. Of a product, stock is what may be sold now, on_hand what stands on the shelf, and the
-- difference what is reserved: lines of orders that hold their units and are not shipped. Each is the sum of the
-- product's movements, which whoever changes it writes in the same transaction.
-- Placing orders waits for this transaction.
LOCK TABLE products IN SHARE ROW EXCLUSIVE MODE;

ALTER TABLE products
    ADD COLUMN on_hand integer,
    -- Counts the changes of what may be sold: a later number outranks an earlier one, in whatever order they arrive.
    ADD COLUMN stock_version bigint NOT NULL DEFAULT 1;

-- No foreign keys: neither a product nor an order is ever deleted, and a checkout would ask for both with each line.
CREATE TABLE stock_movements (
    id bigint GENERATED ALWAYS AS IDENTITY,
    product_id bigint NOT NULL,
    on_hand_delta integer NOT NULL,
    reserved_delta integer NOT NULL,
    reason text NOT NULL CHECK (reason IN (
        'received', 'sold', 'given_back', 'counted', 'damaged', 'returned', 'shipped', 'correction'
    )),
    -- The order whose units these are.
    order_id bigint,
    -- What lets a person find out more, such as a delivery note.
    reference text CHECK (length(reference) BETWEEN 1 AND 500),
    lot text CHECK (length(lot) BETWEEN 1 AND 100),
    expires_on date,
    -- Whoever says the same again says it once.
    key text CHECK (length(key) BETWEEN 1 AND 255),
    moved_by text NOT NULL CHECK (length(moved_by) BETWEEN 1 AND 320),
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (product_id, id),
    CONSTRAINT stock_movements_move_something CHECK (on_hand_delta <> 0 OR reserved_delta <> 0 OR reason = 'counted')
);
CREATE UNIQUE INDEX stock_movements_key_idx ON stock_movements (key) WHERE key IS NOT NULL;
CREATE INDEX stock_movements_order_idx ON stock_movements (order_id) WHERE order_id IS NOT NULL;
REVOKE UPDATE, DELETE ON stock_movements FROM app;
REVOKE DELETE ON products FROM app;

-- What orders hold: units are given back when an order is cancelled or expires, and when all of its money is back.
INSERT INTO stock_movements (product_id, on_hand_delta, reserved_delta, reason, order_id, moved_by, created_at)
SELECT i.product_id, 0, i.quantity, 'sold', o.id, 'shop', o.created_at
FROM orders o JOIN order_items i ON i.order_id = o.id
WHERE o.status NOT IN ('cancelled', 'expired') AND o.restocked_at IS NULL
ORDER BY o.id, i.product_id;

UPDATE products p SET on_hand = p.stock + coalesce((
    SELECT sum(m.reserved_delta) FROM stock_movements m WHERE m.product_id = p.id
), 0);

INSERT INTO stock_movements (product_id, on_hand_delta, reserved_delta, reason, reference, moved_by)
SELECT p.id, p.on_hand, 0, 'correction', 'the stock when movements began', 'shop' FROM products p WHERE p.on_hand > 0;

ALTER TABLE products
    ALTER COLUMN on_hand SET NOT NULL,
    ADD CONSTRAINT products_reserved_not_negative CHECK (on_hand >= stock);
