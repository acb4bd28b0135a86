-- Which attempt the gateway named, where it knows the order by more than its bare number.
ALTER TABLE payment_events ADD COLUMN attempt_no integer CHECK (attempt_no >= 1);

-- The gateway's own word, asked for where the signature does not cover what happened. It stands beside what was
-- received, and it is what is applied.
ALTER TABLE payment_events
    ADD COLUMN confirmed_at timestamptz,
    ADD COLUMN confirmed_status text CHECK (confirmed_status IN (
        'pending', 'paid', 'failed', 'expired', 'refunded', 'partially_refunded', 'chargeback'
    )),
    ADD COLUMN confirmed_amount_rupiah bigint,
    ADD COLUMN confirmed_currency text CHECK (length(confirmed_currency) BETWEEN 1 AND 8),
    ADD COLUMN confirmed_occurred_at timestamptz,
    ADD CONSTRAINT payment_events_confirmed_whole CHECK (
        (confirmed_at IS NULL) = (confirmed_status IS NULL)
        AND (confirmed_at IS NULL) = (confirmed_amount_rupiah IS NULL)
        AND (confirmed_at IS NULL) = (confirmed_currency IS NULL)
        AND (confirmed_occurred_at IS NULL OR confirmed_at IS NOT NULL)
    ),
    ADD CONSTRAINT payment_events_confirmed_refunds_are_told_apart CHECK (
        confirmed_status NOT IN ('refunded', 'partially_refunded') OR refund_key IS NOT NULL
    );

GRANT UPDATE (
    confirmed_at, confirmed_status, confirmed_amount_rupiah, confirmed_currency, confirmed_occurred_at
) ON payment_events TO app;
