-- Outside of a transaction: carts, orders and events are written meanwhile.

-- By which what has had its time is found, the oldest first: functions/prune_*.sql.
DROP INDEX CONCURRENTLY IF EXISTS idempotency_keys_created_at_idx;
CREATE INDEX CONCURRENTLY idempotency_keys_created_at_idx ON idempotency_keys (created_at);
DROP INDEX CONCURRENTLY IF EXISTS cart_items_added_at_idx;
CREATE INDEX CONCURRENTLY cart_items_added_at_idx ON cart_items (added_at);
DROP INDEX CONCURRENTLY IF EXISTS payment_events_body_idx;
CREATE INDEX CONCURRENTLY payment_events_body_idx ON payment_events (received_at) WHERE body IS NOT NULL;
DROP INDEX CONCURRENTLY IF EXISTS quarantined_messages_closed_idx;
CREATE INDEX CONCURRENTLY quarantined_messages_closed_idx ON quarantined_messages (closed_at)
WHERE closed_at IS NOT NULL;
DROP INDEX CONCURRENTLY IF EXISTS reconciliation_findings_gone_idx;
CREATE INDEX CONCURRENTLY reconciliation_findings_gone_idx ON reconciliation_findings (gone_at)
WHERE gone_at IS NOT NULL;

-- What a gateway sent is kept as received, and later as its hash. Nobody but prune_payment_event_bodies puts the one in
-- the place of the other.
ALTER TABLE payment_events
    ADD COLUMN IF NOT EXISTS body_sha256 bytea CHECK (octet_length(body_sha256) = 32),
    ALTER COLUMN body DROP NOT NULL;
ALTER TABLE payment_events
    DROP CONSTRAINT IF EXISTS payment_events_body_or_its_hash,
    ADD CONSTRAINT payment_events_body_or_its_hash CHECK ((body IS NULL) = (body_sha256 IS NOT NULL)) NOT VALID;
ALTER TABLE payment_events VALIDATE CONSTRAINT payment_events_body_or_its_hash;

-- Only prune_jobs deletes jobs: finished ones that have had their time.
REVOKE DELETE ON jobs FROM app;
