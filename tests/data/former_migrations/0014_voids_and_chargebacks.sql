-- Sessions count in UTC, whatever the server's own zone is. On the role, as its time limits are: a SET would pin the
-- connection behind RDS Proxy.
ALTER ROLE app SET timezone = 'UTC';

-- What the payer's bank took back: neither here nor ours to return.
ALTER TABLE payments ADD COLUMN charged_back_rupiah bigint NOT NULL DEFAULT 0;
ALTER TABLE payments ADD CONSTRAINT payments_charged_back_is_money CHECK (charged_back_rupiah >= 0) NOT VALID;

-- A gateway can call a payment off. The rows that are there fit and are looked through by the next migration, which
-- locks nobody out meanwhile.
ALTER TABLE payment_events
    DROP CONSTRAINT payment_events_status_check,
    ADD CONSTRAINT payment_events_status_check CHECK (status IN (
        'pending', 'paid', 'failed', 'expired', 'refunded', 'partially_refunded', 'chargeback', 'voided'
    )) NOT VALID,
    DROP CONSTRAINT payment_events_confirmed_status_check,
    ADD CONSTRAINT payment_events_confirmed_status_check CHECK (confirmed_status IN (
        'pending', 'paid', 'failed', 'expired', 'refunded', 'partially_refunded', 'chargeback', 'voided'
    )) NOT VALID;

-- What a notice told and its gateway did not confirm: the trace of a forger, or of news that came late.
CREATE INDEX payment_events_corrected_idx ON payment_events (confirmed_at)
WHERE confirmed_status <> status AND status <> 'pending';
