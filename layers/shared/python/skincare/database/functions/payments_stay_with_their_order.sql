-- Version 1.
CREATE OR REPLACE TRIGGER payments_stay_with_their_order
BEFORE UPDATE OF id, order_id, gateway, transaction_id ON payments
FOR EACH ROW WHEN (current_user = 'app' AND (
    OLD.id, OLD.order_id, OLD.gateway, OLD.transaction_id
) IS DISTINCT FROM (
    NEW.id, NEW.order_id, NEW.gateway, NEW.transaction_id
)) EXECUTE FUNCTION refuse_rewriting();
