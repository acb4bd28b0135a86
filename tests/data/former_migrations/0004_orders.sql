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
    cancelled_at timestamptz,
    CONSTRAINT orders_one_per_cart_version UNIQUE (user_id, cart_version)
);

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

-- Written in the order's own statement: a key is either unused or leads to its order, never in between.
CREATE TABLE idempotency_keys (
    user_id text NOT NULL,
    key text NOT NULL CHECK (length(key) BETWEEN 1 AND 255),
    fingerprint bytea NOT NULL,
    order_number text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (user_id, key)
);

-- What the customer was told about an order, once per type.
CREATE TABLE order_notifications (
    order_id bigint NOT NULL REFERENCES orders,
    notification_type text NOT NULL CHECK (length(notification_type) BETWEEN 1 AND 100),
    status text NOT NULL CHECK (status IN ('sent', 'undeliverable')),
    provider_message_id text,
    reason text,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (order_id, notification_type)
);

-- Addresses that mail must not be sent to again, in lower case.
CREATE TABLE suppressed_recipients (
    email text PRIMARY KEY CHECK (email = lower(email)),
    reason text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now()
);
