-- Version 3.
--
-- Puts a line into the caller's cart or replaces its quantity. Answers false where no such product is for sale.
-- A cart with more lines than p_maximum_lines is refused with SK003, so that nothing is written.
-- The cart's row is taken before its lines, as everywhere: it is the lock on them, and what is counted
-- below cannot change meanwhile.
CREATE OR REPLACE FUNCTION put_cart_item(p_user_id text, p_sku text, p_quantity integer, p_maximum_lines integer)
RETURNS boolean
LANGUAGE plpgsql
SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    v_product_id bigint;
BEGIN
    SELECT p.id INTO v_product_id FROM products p WHERE p.sku = p_sku AND p.status = 'active';
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
