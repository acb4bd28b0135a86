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

-- Puts a line into the caller's cart or replaces its quantity. Answers false where there is no such product.
-- A cart with more lines than p_maximum_lines is refused with SK003, so that nothing is written.
-- The cart's row is taken before its lines, as everywhere: it is the lock on them, and what is counted
-- below cannot change meanwhile.
CREATE FUNCTION put_cart_item(p_user_id text, p_sku text, p_quantity integer, p_maximum_lines integer)
RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
    v_product_id bigint;
BEGIN
    SELECT p.id INTO v_product_id FROM products p WHERE p.sku = p_sku;
    IF NOT FOUND THEN
        RETURN false;
    END IF;

    INSERT INTO carts (user_id) VALUES (p_user_id)
    ON CONFLICT (user_id) DO UPDATE SET version = carts.version + 1, order_number = NULL, updated_at = now();

    INSERT INTO cart_items (user_id, product_id, quantity) VALUES (p_user_id, v_product_id, p_quantity)
    ON CONFLICT (user_id, product_id) DO UPDATE SET quantity = EXCLUDED.quantity;

    IF (SELECT count(*) FROM cart_items i WHERE i.user_id = p_user_id) > p_maximum_lines THEN
        RAISE EXCEPTION 'the cart has too many lines' USING ERRCODE = 'SK003';
    END IF;
    RETURN true;
END
$$;

-- Takes a line out of the caller's cart. Answers false where there is no such product; a product that is
-- not in the cart changes nothing, not even the version.
CREATE FUNCTION remove_cart_item(p_user_id text, p_sku text) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
    v_product_id bigint;
BEGIN
    SELECT p.id INTO v_product_id FROM products p WHERE p.sku = p_sku;
    IF NOT FOUND THEN
        RETURN false;
    END IF;

    PERFORM 1 FROM carts c WHERE c.user_id = p_user_id FOR NO KEY UPDATE;
    DELETE FROM cart_items i WHERE i.user_id = p_user_id AND i.product_id = v_product_id;
    IF FOUND THEN
        UPDATE carts c SET version = c.version + 1, order_number = NULL, updated_at = now()
        WHERE c.user_id = p_user_id;
    END IF;
    RETURN true;
END
$$;
