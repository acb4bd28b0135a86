-- Version 1.
--
-- A new product's stock is its first movement.
CREATE OR REPLACE FUNCTION products_begin_with_a_movement() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO stock_movements (product_id, on_hand_delta, reserved_delta, reason, reference, moved_by)
    SELECT n.id, n.on_hand, n.on_hand - n.stock, 'received', 'the first stock of a new product', 'shop'
    FROM new_products n WHERE n.on_hand > 0 ORDER BY n.id;
    RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER products_first_movement AFTER INSERT ON products
REFERENCING NEW TABLE AS new_products
FOR EACH STATEMENT EXECUTE FUNCTION products_begin_with_a_movement();
