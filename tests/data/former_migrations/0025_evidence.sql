-- The functions lose what they never need, so that a fault of theirs cannot take evidence away. Nobody but the owner
-- deletes what tells who ordered, paid, got money back or was told so, and what became of a job.
REVOKE DELETE ON
    orders, order_items, idempotency_keys, order_notifications, payments, payment_anomalies, payment_attempts, refunds,
    job_attempts, reconciliation_findings
FROM app;
REVOKE UPDATE ON order_items, job_attempts, idempotency_keys FROM app;

-- What was ordered, paid and asked back stays what it was. By triggers and not by grants of columns: a column that a
-- later migration adds is written to by default. The owner may repair.
CREATE FUNCTION refuse_rewriting() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'what identifies a row of %, and its amount, stays as it was written', TG_TABLE_NAME
        USING ERRCODE = 'insufficient_privilege', CONSTRAINT = TG_NAME;
END
$$;

CREATE TRIGGER orders_stay_as_ordered
BEFORE UPDATE OF id, order_number, user_id, cart_version, total_rupiah ON orders
FOR EACH ROW WHEN (current_user = 'app' AND (
    OLD.id, OLD.order_number, OLD.user_id, OLD.cart_version, OLD.total_rupiah
) IS DISTINCT FROM (
    NEW.id, NEW.order_number, NEW.user_id, NEW.cart_version, NEW.total_rupiah
)) EXECUTE FUNCTION refuse_rewriting();

CREATE TRIGGER payments_stay_with_their_order
BEFORE UPDATE OF id, order_id, gateway, transaction_id ON payments
FOR EACH ROW WHEN (current_user = 'app' AND (
    OLD.id, OLD.order_id, OLD.gateway, OLD.transaction_id
) IS DISTINCT FROM (
    NEW.id, NEW.order_id, NEW.gateway, NEW.transaction_id
)) EXECUTE FUNCTION refuse_rewriting();

CREATE TRIGGER refunds_stay_as_asked
BEFORE UPDATE OF key, order_id, gateway, transaction_id, amount_rupiah, requested_by ON refunds
FOR EACH ROW WHEN (current_user = 'app' AND (
    OLD.key, OLD.order_id, OLD.gateway, OLD.transaction_id, OLD.amount_rupiah, OLD.requested_by
) IS DISTINCT FROM (
    NEW.key, NEW.order_id, NEW.gateway, NEW.transaction_id, NEW.amount_rupiah, NEW.requested_by
)) EXECUTE FUNCTION refuse_rewriting();

-- The next number is the last one and one.
CREATE TRIGGER invoice_counters_count_upwards
BEFORE UPDATE ON invoice_counters
FOR EACH ROW WHEN (current_user = 'app' AND (
    NEW.year <> OLD.year OR NEW.last_serial <> OLD.last_serial + 1
)) EXECUTE FUNCTION refuse_rewriting();

-- A message is kept whole: attributes that are no text, too, as base64. Its hash, of the queue, the body and all
-- attributes, is made by the functions.
ALTER TABLE quarantined_messages ADD COLUMN binary_attributes jsonb NOT NULL DEFAULT '{}'
    CHECK (jsonb_typeof(binary_attributes) = 'object');
