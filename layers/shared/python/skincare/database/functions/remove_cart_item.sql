-- Version 2.
--
-- Takes a line out of the caller's cart. Answers false where there is no such product; a product that is
-- not in the cart changes nothing, not even the version.
CREATE OR REPLACE FUNCTION remove_cart_item(p_user_id text, p_sku text) RETURNS boolean
LANGUAGE plpgsql
SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
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
