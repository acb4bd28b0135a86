CREATE TABLE products (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    sku text NOT NULL UNIQUE CHECK (sku ~ '^[A-Z0-9][A-Z0-9-]{0,31}$'),
    name text NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
    price_rupiah bigint NOT NULL CHECK (price_rupiah BETWEEN 1 AND 100000000),
    stock integer NOT NULL CONSTRAINT products_stock_not_negative CHECK (stock >= 0),
    created_at timestamptz NOT NULL DEFAULT now()
);

-- version counts the customer's changes; order_number is set by the checkout of this version and
-- cleared by the next change, so one version becomes at most one order.
CREATE TABLE carts (
    user_id text PRIMARY KEY CHECK (length(user_id) BETWEEN 1 AND 255),
    version bigint NOT NULL DEFAULT 1,
    order_number text,
    updated_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE cart_items (
    user_id text NOT NULL REFERENCES carts ON DELETE CASCADE,
    product_id bigint NOT NULL REFERENCES products,
    quantity integer NOT NULL CHECK (quantity BETWEEN 1 AND 99),
    added_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (user_id, product_id)
);
CREATE INDEX cart_items_product_id_idx ON cart_items (product_id);
