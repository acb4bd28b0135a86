-- What payment gateways told us, by themselves or when asked: evidence, kept as received.
CREATE TABLE payment_events (
    id uuid PRIMARY KEY,
    gateway text NOT NULL CHECK (gateway ~ '^[a-z][a-z0-9_]{0,39}$'),
    -- What a gateway sent us, or what it answered when we asked.
    source text NOT NULL DEFAULT 'webhook' CHECK (source IN ('webhook', 'answer')),
    -- The same for every copy that the gateway sends of one event, and for no other event of it.
    event_key text NOT NULL CHECK (length(event_key) BETWEEN 1 AND 500),
    body bytea NOT NULL CHECK (octet_length(body) <= 65536),
    -- The headers that the signature covers; never one that is a secret itself.
    headers jsonb NOT NULL CHECK (jsonb_typeof(headers) = 'object'),
    order_number text CHECK (length(order_number) BETWEEN 1 AND 64),
    -- Which attempt the gateway named, where it knows the order by more than its bare number.
    attempt_no integer CHECK (attempt_no >= 1),
    transaction_id text CHECK (length(transaction_id) BETWEEN 1 AND 128),
    -- The gateway's own word, and what it means to us; one that we do not know means nothing.
    reported_status text CHECK (length(reported_status) BETWEEN 1 AND 64),
    status text CHECK (status IN (
        'pending', 'paid', 'failed', 'expired', 'refunded', 'partially_refunded', 'chargeback', 'voided'
    )),
    -- As told, so zero and less are possible. Of a refund: what this refund gives back.
    amount_rupiah bigint,
    currency text CHECK (length(currency) BETWEEN 1 AND 8),
    refund_key text CHECK (length(refund_key) BETWEEN 1 AND 128),
    occurred_at timestamptz,
    state text NOT NULL CHECK (state IN ('received', 'applied', 'ignored', 'quarantined')),
    -- Why a person must look at it.
    flaw text CHECK (length(flaw) BETWEEN 1 AND 200),
    -- A quarantined event keeps its state for good; a person who has looked at it says so.
    reviewed_at timestamptz,
    request_id text,
    received_at timestamptz NOT NULL DEFAULT now(),
    applied_at timestamptz,
    -- The gateway's own word, asked for where the signature does not cover what happened. It stands beside what was
    -- received, and it is what is applied.
    confirmed_at timestamptz,
    confirmed_status text CHECK (confirmed_status IN (
        'pending', 'paid', 'failed', 'expired', 'refunded', 'partially_refunded', 'chargeback', 'voided'
    )),
    confirmed_amount_rupiah bigint,
    confirmed_currency text CHECK (length(confirmed_currency) BETWEEN 1 AND 8),
    confirmed_occurred_at timestamptz,
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
    CONSTRAINT payment_events_applied_at_a_time CHECK ((state = 'applied') = (applied_at IS NOT NULL)),
    CONSTRAINT payment_events_confirmed_whole CHECK (
        (confirmed_at IS NULL) = (confirmed_status IS NULL)
        AND (confirmed_at IS NULL) = (confirmed_amount_rupiah IS NULL)
        AND (confirmed_at IS NULL) = (confirmed_currency IS NULL)
        AND (confirmed_occurred_at IS NULL OR confirmed_at IS NOT NULL)
    ),
    CONSTRAINT payment_events_confirmed_refunds_are_told_apart CHECK (
        confirmed_status NOT IN ('refunded', 'partially_refunded') OR refund_key IS NOT NULL
    )
);
CREATE INDEX payment_events_order_number_idx ON payment_events (order_number) WHERE order_number IS NOT NULL;
CREATE INDEX payment_events_unsettled_idx ON payment_events (received_at)
WHERE state = 'received' OR (state = 'quarantined' AND reviewed_at IS NULL);
-- What a notice told and its gateway did not confirm: the trace of a forger, or of news that came late.
CREATE INDEX payment_events_corrected_idx ON payment_events (confirmed_at)
WHERE confirmed_status <> status AND status <> 'pending';

-- Evidence is added to and never rewritten: the functions may only note what became of an event.
REVOKE UPDATE, DELETE ON payment_events FROM app;
GRANT UPDATE (
    state, flaw, applied_at, reviewed_at,
    confirmed_at, confirmed_status, confirmed_amount_rupiah, confirmed_currency, confirmed_occurred_at
) ON payment_events TO app;

-- Payment events that a person gave up: kept as quarantined and reviewed. Taking one up again deletes its row here.
CREATE TABLE set_aside_events (
    event_id uuid PRIMARY KEY REFERENCES payment_events,
    set_aside_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX set_aside_events_at_idx ON set_aside_events (set_aside_at);

-- One row per transaction at a gateway: what the applied events of its order add up to.
CREATE TABLE payments (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    order_id bigint NOT NULL REFERENCES orders,
    gateway text NOT NULL,
    transaction_id text NOT NULL,
    status text NOT NULL CHECK (status IN (
        'pending', 'paid', 'failed', 'expired', 'refunded', 'partially_refunded', 'chargeback'
    )),
    -- What arrived, and how much of it went back; nothing before it is paid.
    amount_rupiah bigint NOT NULL DEFAULT 0 CHECK (amount_rupiah >= 0),
    refunded_rupiah bigint NOT NULL DEFAULT 0,
    -- What the payer's bank took back: neither here nor ours to return.
    charged_back_rupiah bigint NOT NULL DEFAULT 0,
    -- The event that paid it.
    event_id uuid REFERENCES payment_events,
    pays_order boolean NOT NULL DEFAULT false,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT payments_one_per_transaction UNIQUE (gateway, transaction_id),
    CONSTRAINT payments_give_back_what_came CHECK (refunded_rupiah BETWEEN 0 AND amount_rupiah),
    CONSTRAINT payments_charged_back_is_money CHECK (charged_back_rupiah >= 0),
    CONSTRAINT payments_money_has_its_event CHECK ((amount_rupiah > 0) = (event_id IS NOT NULL)),
    CONSTRAINT payments_pay_with_money CHECK (NOT pays_order OR amount_rupiah > 0)
);
CREATE UNIQUE INDEX payments_event_id_idx ON payments (event_id) WHERE event_id IS NOT NULL;
CREATE UNIQUE INDEX payments_one_pays_the_order_idx ON payments (order_id) WHERE pays_order;
CREATE INDEX payments_order_id_idx ON payments (order_id);
-- What a reconciliation looks through.
CREATE INDEX payments_updated_at_idx ON payments (updated_at);
REVOKE DELETE ON payments FROM app;

-- What we asked a payment gateway to collect. An order has one open attempt at a time and a new one after the
-- old one ended: a gateway never takes the same reference twice.
CREATE TABLE payment_attempts (
    order_id bigint NOT NULL REFERENCES orders,
    attempt_no integer NOT NULL CHECK (attempt_no >= 1),
    gateway text NOT NULL CHECK (gateway ~ '^[a-z][a-z0-9_]{0,39}$'),
    amount_rupiah bigint NOT NULL CHECK (amount_rupiah > 0),
    -- Where the customer pays; unknown until the gateway has answered.
    redirect_url text CHECK (length(redirect_url) BETWEEN 1 AND 2000),
    expires_at timestamptz NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    -- When the gateway was last asked what became of the attempt.
    asked_at timestamptz,
    -- Since when nobody is sent to its page any more, where that is earlier than its end.
    closed_at timestamptz,
    -- When its time was over and its gateway knew of no money; an expiry that has many to ask goes on from there.
    checked_at timestamptz,
    PRIMARY KEY (order_id, attempt_no)
);
CREATE INDEX payment_attempts_created_at_idx ON payment_attempts (created_at);
REVOKE DELETE ON payment_attempts FROM app;

-- What does not fit, and the work that it leaves to a person: open until somebody resolves it, or until we
-- withdraw it because a later event made it fit.
CREATE TABLE payment_anomalies (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    event_id uuid NOT NULL REFERENCES payment_events,
    order_id bigint NOT NULL REFERENCES orders,
    kind text NOT NULL CHECK (length(kind) BETWEEN 1 AND 40),
    task text NOT NULL CHECK (task IN ('refund', 'review')),
    expected_rupiah bigint NOT NULL,
    amount_rupiah bigint NOT NULL,
    give_back_rupiah bigint NOT NULL CHECK (give_back_rupiah >= 0),
    created_at timestamptz NOT NULL DEFAULT now(),
    withdrawn_at timestamptz,
    resolved_at timestamptz,
    CONSTRAINT payment_anomalies_one_per_event_and_kind UNIQUE (event_id, kind)
);
CREATE INDEX payment_anomalies_order_id_idx ON payment_anomalies (order_id);
CREATE INDEX payment_anomalies_open_idx ON payment_anomalies (created_at)
WHERE withdrawn_at IS NULL AND resolved_at IS NULL;
REVOKE DELETE ON payment_anomalies FROM app;

-- Money that we give back: asked for by a person, sent by a job, booked by the gateway's event.
CREATE TABLE refunds (
    -- Ours; the gateway takes each key once, and its event carries it.
    key text PRIMARY KEY CHECK (key ~ '^[A-Za-z0-9][A-Za-z0-9-]{0,63}$'),
    order_id bigint NOT NULL REFERENCES orders,
    gateway text NOT NULL,
    transaction_id text NOT NULL,
    amount_rupiah bigint NOT NULL CHECK (amount_rupiah > 0),
    reason text NOT NULL CHECK (length(reason) BETWEEN 1 AND 200),
    requested_by text NOT NULL CHECK (length(requested_by) BETWEEN 1 AND 100),
    -- Whose goods do not come back to the shelf, though their money goes back.
    keep_stock boolean NOT NULL DEFAULT false,
    state text NOT NULL DEFAULT 'requested' CHECK (state IN ('requested', 'sent', 'booked', 'refused')),
    -- Why the gateway would not do it.
    refusal text CHECK (length(refusal) BETWEEN 1 AND 1000),
    created_at timestamptz NOT NULL DEFAULT now(),
    sent_at timestamptz,
    booked_at timestamptz,
    FOREIGN KEY (gateway, transaction_id) REFERENCES payments (gateway, transaction_id),
    CONSTRAINT refunds_booked_at_a_time CHECK ((state = 'booked') = (booked_at IS NOT NULL)),
    CONSTRAINT refunds_refused_for_a_reason CHECK (state <> 'refused' OR refusal IS NOT NULL)
);
CREATE INDEX refunds_order_id_idx ON refunds (order_id);
CREATE INDEX refunds_open_idx ON refunds (created_at) WHERE state IN ('requested', 'sent');
-- Refunds that a gateway would not make, for the reconciliation.
CREATE INDEX refunds_refused_idx ON refunds (created_at) WHERE state = 'refused';
REVOKE DELETE ON refunds FROM app;
