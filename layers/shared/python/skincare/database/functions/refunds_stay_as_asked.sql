-- Version 1.
CREATE OR REPLACE TRIGGER refunds_stay_as_asked
BEFORE UPDATE OF key, order_id, gateway, transaction_id, amount_rupiah, requested_by ON refunds
FOR EACH ROW WHEN (current_user = 'app' AND (
    OLD.key, OLD.order_id, OLD.gateway, OLD.transaction_id, OLD.amount_rupiah, OLD.requested_by
) IS DISTINCT FROM (
    NEW.key, NEW.order_id, NEW.gateway, NEW.transaction_id, NEW.amount_rupiah, NEW.requested_by
)) EXECUTE FUNCTION refuse_rewriting();
