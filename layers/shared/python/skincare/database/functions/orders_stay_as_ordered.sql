-- Version 1.
CREATE OR REPLACE TRIGGER orders_stay_as_ordered
BEFORE UPDATE OF id, order_number, user_id, cart_version, total_rupiah ON orders
FOR EACH ROW WHEN (current_user = 'app' AND (
    OLD.id, OLD.order_number, OLD.user_id, OLD.cart_version, OLD.total_rupiah
) IS DISTINCT FROM (
    NEW.id, NEW.order_number, NEW.user_id, NEW.cart_version, NEW.total_rupiah
)) EXECUTE FUNCTION refuse_rewriting();
