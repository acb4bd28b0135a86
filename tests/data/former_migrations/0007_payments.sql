ALTER TABLE orders ADD COLUMN paid_at timestamptz;

-- Only a backstop, as for jobs. A closed order never opens again, whatever money arrives. An order may come
-- back from a refund: a second payment turns out to be the earlier one, and the refunded one the double.
CREATE FUNCTION orders_refuse_illegal_move() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.status IN ('cancelled', 'expired') OR NEW.status = 'pending'
        OR (NEW.status IN ('cancelled', 'expired') AND OLD.status <> 'pending')
    THEN
        RAISE EXCEPTION 'order % cannot move from % to %', OLD.order_number, OLD.status, NEW.status
            USING ERRCODE = 'check_violation', CONSTRAINT = 'orders_legal_moves';
    END IF;
    RETURN NEW;
END
$$;

CREATE TRIGGER orders_legal_moves BEFORE UPDATE OF status ON orders
FOR EACH ROW WHEN (OLD.status IS DISTINCT FROM NEW.status) EXECUTE FUNCTION orders_refuse_illegal_move();

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
    -- The event that paid it.
    event_id uuid REFERENCES payment_events,
    pays_order boolean NOT NULL DEFAULT false,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT payments_one_per_transaction UNIQUE (gateway, transaction_id),
    CONSTRAINT payments_give_back_what_came CHECK (refunded_rupiah BETWEEN 0 AND amount_rupiah),
    CONSTRAINT payments_money_has_its_event CHECK ((amount_rupiah > 0) = (event_id IS NOT NULL)),
    CONSTRAINT payments_pay_with_money CHECK (NOT pays_order OR amount_rupiah > 0)
);
CREATE UNIQUE INDEX payments_event_id_idx ON payments (event_id) WHERE event_id IS NOT NULL;
CREATE UNIQUE INDEX payments_one_pays_the_order_idx ON payments (order_id) WHERE pays_order;
CREATE INDEX payments_order_id_idx ON payments (order_id);

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
CREATE INDEX payment_anomalies_open_idx ON payment_anomalies (created_at) WHERE withdrawn_at IS NULL AND resolved_at IS NULL;
