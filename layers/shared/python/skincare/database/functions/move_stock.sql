-- Version 1.
--
-- Moves what stands on the shelf of one product, or what is reserved of it, by a movement of its own.
--
-- Answers one row with the product's numbers afterwards and an outcome: 'moved'; 'replayed', the key's movement was
-- this one; 'key_reused', it was another; 'negative', nothing was moved, for what may be sold, what stands on the shelf
-- or what is reserved would be below zero. No row where there is no such product.
CREATE OR REPLACE FUNCTION move_stock(
    p_sku text,
    p_on_hand_delta integer,
    p_reserved_delta integer,
    p_reason text,
    p_key text,
    p_moved_by text,
    p_reference text DEFAULT NULL,
    p_order_id bigint DEFAULT NULL,
    p_lot text DEFAULT NULL,
    p_expires_on date DEFAULT NULL
) RETURNS TABLE (outcome text, on_hand integer, reserved integer, available integer, version bigint)
LANGUAGE plpgsql
SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
DECLARE
    v_product products%ROWTYPE;
    v_known stock_movements%ROWTYPE;
    v_outcome text := 'moved';
BEGIN
    SELECT * INTO v_product FROM products p WHERE p.sku = p_sku FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RETURN;
    END IF;

    SELECT * INTO v_known FROM stock_movements m WHERE m.key = p_key;
    IF FOUND THEN
        v_outcome := CASE
            WHEN (v_known.product_id, v_known.on_hand_delta, v_known.reserved_delta, v_known.reason)
                = (v_product.id, p_on_hand_delta, p_reserved_delta, p_reason)
                AND (v_known.order_id, v_known.lot, v_known.expires_on)
                IS NOT DISTINCT FROM (p_order_id, p_lot, p_expires_on)
            THEN 'replayed' ELSE 'key_reused'
        END;
    ELSIF v_product.on_hand + p_on_hand_delta < 0
        OR v_product.on_hand - v_product.stock + p_reserved_delta < 0
        OR v_product.stock + p_on_hand_delta - p_reserved_delta < 0
    THEN
        v_outcome := 'negative';
    ELSE
        INSERT INTO stock_movements (
            product_id, on_hand_delta, reserved_delta, reason, order_id, reference, lot, expires_on, key, moved_by
        )
        VALUES (
            v_product.id, p_on_hand_delta, p_reserved_delta, p_reason, p_order_id, p_reference, p_lot, p_expires_on,
            p_key, p_moved_by
        )
        ON CONFLICT (key) WHERE key IS NOT NULL DO NOTHING;
        IF FOUND THEN
            UPDATE products p SET
                on_hand = p.on_hand + p_on_hand_delta,
                stock = p.stock + p_on_hand_delta - p_reserved_delta,
                stock_version = p.stock_version + (p_on_hand_delta <> p_reserved_delta)::integer
            WHERE p.id = v_product.id
            RETURNING * INTO v_product;
        ELSE
            -- Of another product, a moment ago: this one is locked.
            v_outcome := 'key_reused';
        END IF;
    END IF;

    RETURN QUERY SELECT v_outcome, v_product.on_hand, v_product.on_hand - v_product.stock, v_product.stock,
        v_product.stock_version;
END
$$;
