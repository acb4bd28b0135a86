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
    PRIMARY KEY (order_id, attempt_no)
);
