-- Version 2.
--
-- Checks out the caller's cart: one call is one transaction and one round trip.
--
-- Answers one row: outcome 'placed', 'replayed' (the key's first order again) or 'key_reused' (the key
-- belongs to another body). A refusal is an error, so that nothing is written:
--   SK001  the cart is empty, was never filled, or this version of it was ordered already
--   SK002  the total is above the one that the customer was shown
--   SK003  the cart has more lines than an order may have
--   SK004  the customer has p_open_orders unpaid orders
--   SK005  with this order the customer would have more than p_open_units unpaid units of a product
--   23514 products_stock_not_negative  somebody else was faster
-- p_expires_in is when the order's timer goes off, p_grace what of that comes after the end of its time to be paid.
-- Locks are taken in one order everywhere: idempotency key, cart, products by id.
CREATE OR REPLACE FUNCTION place_order(
    p_user_id text,
    p_key text,
    p_fingerprint bytea,
    p_order_number text,
    p_expected_total_rupiah bigint,
    p_email text,
    p_locale text,
    p_recipient_name text,
    p_shipping_address text,
    p_note text,
    p_request_id text,
    p_job_id uuid,
    p_job_type text,
    p_job_queue text,
    p_maximum_lines integer,
    p_timer_id uuid DEFAULT gen_random_uuid(),
    p_expires_in interval DEFAULT '24 hours 15 minutes',
    p_trace_id text DEFAULT NULL,
    p_grace interval DEFAULT '15 minutes',
    p_open_orders integer DEFAULT NULL,
    p_open_units integer DEFAULT NULL
) RETURNS TABLE (
    outcome text, order_number text, total_rupiah bigint, created_at timestamptz, items jsonb, publish_at timestamptz,
    expires_at timestamptz
)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_number text := p_order_number;
    v_outcome text := 'placed';
    v_publish_at timestamptz;
    v_fingerprint bytea;
    v_version bigint;
    v_order_id bigint;
    v_total bigint;
    v_lines integer;
BEGIN
    INSERT INTO idempotency_keys (user_id, key, fingerprint, order_number)
    VALUES (p_user_id, p_key, p_fingerprint, p_order_number)
    ON CONFLICT (user_id, key) DO NOTHING;

    IF FOUND THEN
        UPDATE carts c SET order_number = p_order_number
        WHERE c.user_id = p_user_id AND c.order_number IS NULL
        RETURNING c.version INTO v_version;
        IF v_version IS NULL THEN
            RAISE EXCEPTION 'there is no cart to order' USING ERRCODE = 'SK001';
        END IF;

        -- The cart's row is ours: no other checkout of this customer adds to what is counted here.
        IF (SELECT count(*) FROM orders o WHERE o.user_id = p_user_id AND o.status = 'pending') >= p_open_orders THEN
            RAISE EXCEPTION 'the customer has too many unpaid orders' USING ERRCODE = 'SK004';
        END IF;
        -- Added up once: asked for line by line, it cost fifty lines as many milliseconds.
        IF p_open_units IS NOT NULL AND EXISTS (
            WITH unpaid AS MATERIALIZED (
                SELECT l.product_id, sum(l.quantity) AS units
                FROM orders o JOIN order_items l ON l.order_id = o.id
                WHERE o.user_id = p_user_id AND o.status = 'pending'
                GROUP BY l.product_id
            )
            SELECT FROM cart_items i LEFT JOIN unpaid u ON u.product_id = i.product_id
            WHERE i.user_id = p_user_id AND i.quantity + coalesce(u.units, 0) > p_open_units
        ) THEN
            RAISE EXCEPTION 'the customer has too many unpaid units' USING ERRCODE = 'SK005';
        END IF;

        SELECT sum(l.price_rupiah * l.quantity), count(*) INTO v_total, v_lines
        FROM (
            SELECT p.price_rupiah, i.quantity
            FROM cart_items i JOIN products p ON p.id = i.product_id
            WHERE i.user_id = p_user_id
            ORDER BY p.id FOR NO KEY UPDATE OF p
        ) l;
        IF v_lines = 0 THEN
            RAISE EXCEPTION 'the cart is empty' USING ERRCODE = 'SK001';
        ELSIF v_lines > p_maximum_lines THEN
            RAISE EXCEPTION 'the cart has too many lines' USING ERRCODE = 'SK003';
        ELSIF v_total > p_expected_total_rupiah THEN
            RAISE EXCEPTION 'the total is above the expected one' USING ERRCODE = 'SK002';
        END IF;

        INSERT INTO orders (
            order_number, user_id, cart_version, total_rupiah, email, locale,
            recipient_name, shipping_address, note, request_id, expires_at
        ) VALUES (
            p_order_number, p_user_id, v_version, v_total, p_email, p_locale,
            p_recipient_name, p_shipping_address, p_note, p_request_id, now() + p_expires_in - p_grace
        ) RETURNING id INTO v_order_id;

        INSERT INTO order_items (order_id, product_id, sku, name, unit_price_rupiah, quantity)
        SELECT v_order_id, p.id, p.sku, p.name, p.price_rupiah, i.quantity
        FROM cart_items i JOIN products p ON p.id = i.product_id
        WHERE i.user_id = p_user_id;

        UPDATE products p SET stock = p.stock - i.quantity
        FROM order_items i
        WHERE i.order_id = v_order_id AND p.id = i.product_id;

        DELETE FROM cart_items i WHERE i.user_id = p_user_id;

        v_publish_at := enqueue_job(
            p_job_id, p_job_type, p_job_queue, jsonb_build_object('order_number', p_order_number),
            p_order_number, p_request_id, p_trace_id
        );
        PERFORM enqueue_job(
            p_timer_id, 'expire_order', 'payments', jsonb_build_object('order_number', p_order_number),
            p_order_number, p_request_id, p_trace_id,
            p_run_at => now() + p_expires_in, p_unique_key => 'expire_order:' || p_order_number
        );
    ELSE
        SELECT k.fingerprint, k.order_number INTO v_fingerprint, v_number
        FROM idempotency_keys k WHERE k.user_id = p_user_id AND k.key = p_key;
        v_outcome := CASE WHEN v_fingerprint = p_fingerprint THEN 'replayed' ELSE 'key_reused' END;
    END IF;

    RETURN QUERY
    SELECT v_outcome, o.order_number, o.total_rupiah, o.created_at, jsonb_agg(jsonb_build_object(
        'sku', i.sku, 'name', i.name, 'quantity', i.quantity, 'unit_price_rupiah', i.unit_price_rupiah
    ) ORDER BY i.product_id), v_publish_at, o.expires_at
    FROM orders o JOIN order_items i ON i.order_id = o.id
    WHERE o.order_number = v_number
    GROUP BY o.id;
END
$$;
