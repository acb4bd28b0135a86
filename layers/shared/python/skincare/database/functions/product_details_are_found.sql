-- Version 1.
CREATE OR REPLACE TRIGGER product_details_are_found
AFTER INSERT OR UPDATE OR DELETE ON product_details
FOR EACH ROW EXECUTE FUNCTION search_follows_products();
