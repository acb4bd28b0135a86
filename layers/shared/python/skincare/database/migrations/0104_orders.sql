-- A trigger keeps what was ordered as it was: functions/orders_stay_as_ordered.sql.
CREATE TABLE orders (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    order_number text NOT NULL UNIQUE CHECK (order_number ~ '^SKN-[0-9A-Z]{5}-[0-9A-Z]{5}$'),
    user_id text NOT NULL,
    cart_version bigint NOT NULL,
    status text NOT NULL DEFAULT 'pending' CHECK (status IN (
        'pending', 'paid', 'cancelled', 'expired', 'refunded', 'partially_refunded'
    )),
    total_rupiah bigint NOT NULL CHECK (total_rupiah > 0),
    email text NOT NULL CHECK (length(email) BETWEEN 3 AND 320),
    locale text NOT NULL CHECK (locale IN ('id', 'en')),
    recipient_name text CHECK (length(recipient_name) <= 200),
    shipping_address text CHECK (length(shipping_address) <= 1000),
    note text CHECK (length(note) <= 1000),
    request_id text,
    created_at timestamptz NOT NULL DEFAULT now(),
    -- Until when the order may be paid. A payment may move it once it is started, never beyond a day; the order's timer
    -- goes off a little later. NULL only on closed orders of a time that knew no end.
    expires_at timestamptz DEFAULT now() + interval '24 hours',
    paid_at timestamptz,
    cancelled_at timestamptz,
    expired_at timestamptz,
    -- When the units of a refunded order were given back; NULL while they are the order's.
    restocked_at timestamptz,
    CONSTRAINT orders_one_per_cart_version UNIQUE (user_id, cart_version),
    CONSTRAINT orders_paid_within_a_day CHECK (
        expires_at > created_at AND expires_at <= created_at + interval '24 hours'
    )
);
-- What a reconciliation looks through.
CREATE INDEX orders_pending_idx ON orders (created_at) WHERE status = 'pending';
CREATE INDEX orders_paid_at_idx ON orders (paid_at) WHERE paid_at IS NOT NULL;
-- What a checkout counts. After the others: of indexes that cost the same, the planner takes the newest.
CREATE INDEX orders_open_idx ON orders (user_id) WHERE status = 'pending';
REVOKE DELETE ON orders FROM app;

CREATE TABLE order_items (
    order_id bigint NOT NULL REFERENCES orders,
    product_id bigint NOT NULL REFERENCES products,
    sku text NOT NULL,
    name text NOT NULL,
    unit_price_rupiah bigint NOT NULL CHECK (unit_price_rupiah > 0),
    quantity integer NOT NULL CHECK (quantity BETWEEN 1 AND 99),
    PRIMARY KEY (order_id, product_id)
);
CREATE INDEX order_items_product_id_idx ON order_items (product_id);
REVOKE UPDATE, DELETE ON order_items FROM app;

-- Written in the order's own statement: a key is either unused or leads to its order, never in between.
CREATE TABLE idempotency_keys (
    user_id text NOT NULL,
    key text NOT NULL CHECK (length(key) BETWEEN 1 AND 255),
    fingerprint bytea NOT NULL,
    order_number text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (user_id, key)
);
REVOKE UPDATE, DELETE ON idempotency_keys FROM app;
