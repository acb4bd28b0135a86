-- Version 5.
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
--   23514 products_stock_not_negative  somebody else was faster, or a product is not for sale any more
-- p_expires_in is when the order's timer goes off, p_grace what of that comes after the end of its time to be paid.
-- Locks are taken in one order everywhere: idempotency key, cart, products by id.
-- A session keeps its plans for life, and may have made them on empty tables: the settings and the ANY (ARRAY(...)) of
-- what is joined keep each step to an index of its own.
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
LANGUAGE plpgsql
SET enable_seqscan = off SET random_page_cost = 1.1 SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
DECLARE
    v_fingerprint bytea;
    v_number text;
    v_version bigint;
    v_open_orders bigint;
    v_too_many_units boolean;
    v_order_id bigint;
    v_total bigint;
    v_lines bigint;
    v_all_for_sale boolean;
    v_created_at timestamptz;
    v_expires_at timestamptz;
    v_items jsonb;
    v_publish_at timestamptz;
BEGIN
    INSERT INTO idempotency_keys (user_id, key, fingerprint, order_number)
    VALUES (p_user_id, p_key, p_fingerprint, p_order_number)
    ON CONFLICT (user_id, key) DO NOTHING;

    IF NOT FOUND THEN
        SELECT k.fingerprint, k.order_number INTO v_fingerprint, v_number
        FROM idempotency_keys k WHERE k.user_id = p_user_id AND k.key = p_key;
        RETURN QUERY
        SELECT CASE WHEN v_fingerprint = p_fingerprint THEN 'replayed' ELSE 'key_reused' END,
            o.order_number, o.total_rupiah, o.created_at, (
                SELECT jsonb_agg(jsonb_build_object(
                    'sku', i.sku, 'name', i.name, 'quantity', i.quantity, 'unit_price_rupiah', i.unit_price_rupiah
                ) ORDER BY i.product_id)
                FROM order_items i WHERE i.order_id = o.id
            ), NULL::timestamptz, o.expires_at
        FROM orders o WHERE o.order_number = v_number;
        RETURN;
    END IF;

    UPDATE carts c SET order_number = p_order_number
    WHERE c.user_id = p_user_id AND c.order_number IS NULL
    RETURNING c.version INTO v_version;
    IF v_version IS NULL THEN
        RAISE EXCEPTION 'there is no cart to order' USING ERRCODE = 'SK001';
    END IF;

    -- The cart's row is ours: no other checkout of this customer adds to what is counted here.
    -- Units are added up once: asked for line by line, it cost fifty lines as many milliseconds.
    WITH unpaid AS MATERIALIZED (
        SELECT o.id FROM orders o WHERE o.user_id = p_user_id AND o.status = 'pending'
    ), held AS MATERIALIZED (
        SELECT l.product_id, sum(l.quantity) AS units
        FROM order_items l WHERE l.order_id = ANY (ARRAY(SELECT u.id FROM unpaid u))
        GROUP BY l.product_id
    )
    SELECT (SELECT count(*) FROM unpaid), p_open_units IS NOT NULL AND EXISTS (
        SELECT FROM cart_items i LEFT JOIN held h ON h.product_id = i.product_id
        WHERE i.user_id = p_user_id AND i.quantity + coalesce(h.units, 0) > p_open_units
    ) INTO v_open_orders, v_too_many_units;
    IF v_open_orders >= p_open_orders THEN
        RAISE EXCEPTION 'the customer has too many unpaid orders' USING ERRCODE = 'SK004';
    ELSIF v_too_many_units THEN
        RAISE EXCEPTION 'the customer has too many unpaid units' USING ERRCODE = 'SK005';
    END IF;

    WITH line AS MATERIALIZED (
        SELECT p.id, p.sku, p.name, p.price_rupiah, p.status, i.quantity
        FROM products p JOIN cart_items i ON i.product_id = p.id AND i.user_id = p_user_id
        WHERE p.id = ANY (ARRAY(SELECT w.product_id FROM cart_items w WHERE w.user_id = p_user_id))
        ORDER BY p.id FOR NO KEY UPDATE OF p
    ), total AS MATERIALIZED (
        SELECT sum(l.price_rupiah * l.quantity)::bigint AS rupiah, count(*) AS lines,
            bool_and(l.status = 'active') AS all_for_sale
        FROM line l
    ), ordered AS (
        INSERT INTO orders AS o (
            order_number, user_id, cart_version, total_rupiah, email, locale,
            recipient_name, shipping_address, note, request_id, expires_at
        )
        SELECT p_order_number, p_user_id, v_version, t.rupiah, p_email, p_locale,
            p_recipient_name, p_shipping_address, p_note, p_request_id, now() + p_expires_in - p_grace
        FROM total t
        WHERE t.lines BETWEEN 1 AND p_maximum_lines AND t.all_for_sale AND (t.rupiah > p_expected_total_rupiah) IS NOT TRUE
        RETURNING o.id, o.created_at, o.expires_at
    ), items AS (
        INSERT INTO order_items (order_id, product_id, sku, name, unit_price_rupiah, quantity)
        SELECT o.id, l.id, l.sku, l.name, l.price_rupiah, l.quantity FROM ordered o CROSS JOIN line l
    ), taken AS (
        UPDATE products p SET stock = p.stock - l.quantity, stock_version = p.stock_version + 1
        FROM line l CROSS JOIN ordered o
        WHERE p.id = ANY (ARRAY(SELECT w.id FROM line w)) AND p.id = l.id
    ), moved AS (
        INSERT INTO stock_movements (product_id, on_hand_delta, reserved_delta, reason, order_id, moved_by)
        SELECT l.id, 0, l.quantity, 'sold', o.id, 'shop' FROM ordered o CROSS JOIN line l
    ), emptied AS (
        DELETE FROM cart_items i WHERE i.user_id = p_user_id AND EXISTS (SELECT FROM ordered)
    )
    SELECT t.rupiah, t.lines, t.all_for_sale, o.id, o.created_at, o.expires_at, (
        SELECT jsonb_agg(jsonb_build_object(
            'sku', l.sku, 'name', l.name, 'quantity', l.quantity, 'unit_price_rupiah', l.price_rupiah
        ) ORDER BY l.id)
        FROM line l
    ) INTO v_total, v_lines, v_all_for_sale, v_order_id, v_created_at, v_expires_at, v_items
    FROM total t LEFT JOIN ordered o ON true;
    IF v_lines = 0 THEN
        RAISE EXCEPTION 'the cart is empty' USING ERRCODE = 'SK001';
    ELSIF v_lines > p_maximum_lines THEN
        RAISE EXCEPTION 'the cart has too many lines' USING ERRCODE = 'SK003';
    ELSIF NOT v_all_for_sale THEN
        RAISE EXCEPTION 'a product is not for sale'
        USING ERRCODE = 'check_violation', CONSTRAINT = 'products_stock_not_negative';
    ELSIF v_order_id IS NULL THEN
        RAISE EXCEPTION 'the total is above the expected one' USING ERRCODE = 'SK002';
    END IF;

    SELECT e.publish_at INTO v_publish_at FROM enqueue_jobs(
        ARRAY[p_job_id, p_timer_id],
        ARRAY[p_job_type, 'expire_order'],
        ARRAY[p_job_queue, 'payments'],
        array_fill(jsonb_build_object('order_number', p_order_number), ARRAY[2]),
        ARRAY[NULL, now() + p_expires_in],
        ARRAY[NULL, 'expire_order:' || p_order_number],
        p_order_number, p_request_id, p_trace_id
    ) e WHERE e.id = p_job_id;

    RETURN QUERY
    SELECT 'placed', p_order_number, v_total, v_created_at, v_items, v_publish_at, v_expires_at;
END
$$;
