-- What payment gateways told us: evidence, kept as received.
CREATE TABLE payment_events (
    id uuid PRIMARY KEY,
    gateway text NOT NULL CHECK (gateway ~ '^[a-z][a-z0-9_]{0,39}$'),
    -- The same for every copy that the gateway sends of one event, and for no other event of it.
    event_key text NOT NULL CHECK (length(event_key) BETWEEN 1 AND 500),
    body bytea NOT NULL CHECK (octet_length(body) <= 65536),
    -- The headers that the signature covers; never one that is a secret itself.
    headers jsonb NOT NULL CHECK (jsonb_typeof(headers) = 'object'),
    order_number text CHECK (length(order_number) BETWEEN 1 AND 64),
    transaction_id text CHECK (length(transaction_id) BETWEEN 1 AND 128),
    -- The gateway's own word, and what it means to us; one that we do not know means nothing.
    reported_status text CHECK (length(reported_status) BETWEEN 1 AND 64),
    status text CHECK (status IN (
        'pending', 'paid', 'failed', 'expired', 'refunded', 'partially_refunded', 'chargeback'
    )),
    -- As told, so zero and less are possible. Of a refund: what this refund gives back.
    amount_rupiah bigint,
    currency text CHECK (length(currency) BETWEEN 1 AND 8),
    refund_key text CHECK (length(refund_key) BETWEEN 1 AND 128),
    occurred_at timestamptz,
    state text NOT NULL CHECK (state IN ('received', 'applied', 'ignored', 'quarantined')),
    -- Why a person must look at it.
    flaw text CHECK (length(flaw) BETWEEN 1 AND 200),
    request_id text,
    received_at timestamptz NOT NULL DEFAULT now(),
    applied_at timestamptz,
    CONSTRAINT payment_events_once_per_gateway UNIQUE (gateway, event_key),
    CONSTRAINT payment_events_can_be_applied CHECK (state NOT IN ('received', 'applied') OR (
        order_number IS NOT NULL AND transaction_id IS NOT NULL AND status IS NOT NULL
        AND amount_rupiah IS NOT NULL AND currency IS NOT NULL
    )),
    CONSTRAINT payment_events_refunds_are_told_apart CHECK (
        state NOT IN ('received', 'applied') OR status NOT IN ('refunded', 'partially_refunded')
        OR refund_key IS NOT NULL
    ),
    CONSTRAINT payment_events_flaw_is_told CHECK ((state = 'quarantined') = (flaw IS NOT NULL)),
    CONSTRAINT payment_events_applied_at_a_time CHECK ((state = 'applied') = (applied_at IS NOT NULL))
);
CREATE INDEX payment_events_order_number_idx ON payment_events (order_number) WHERE order_number IS NOT NULL;
CREATE INDEX payment_events_unsettled_idx ON payment_events (received_at) WHERE state IN ('received', 'quarantined');

-- Evidence is added to and never rewritten: the functions may only note what became of an event.
REVOKE UPDATE, DELETE ON payment_events FROM app;
GRANT UPDATE (state, flaw, applied_at) ON payment_events TO app;
