-- Version 1.
--
-- What a product is found by changes together with it. Not with its stock: that would be a word on each order.
CREATE OR REPLACE FUNCTION search_follows_products() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
    IF TG_TABLE_NAME = 'products' THEN
        PERFORM write_product_search(NEW.id);
    ELSIF TG_OP = 'DELETE' THEN
        PERFORM write_product_search(OLD.product_id);
    ELSE
        PERFORM write_product_search(NEW.product_id);
    END IF;
    RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER products_are_found
AFTER INSERT OR UPDATE OF sku, name, name_en, price_rupiah, status ON products
FOR EACH ROW EXECUTE FUNCTION search_follows_products();
