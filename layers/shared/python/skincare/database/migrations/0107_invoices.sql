-- The last number of each year. Whoever takes the next one holds the row until its transaction ends, so that a
-- transaction that fails gives its number back.
CREATE TABLE invoice_counters (
    year integer PRIMARY KEY CHECK (year BETWEEN 2000 AND 9999),
    last_serial integer NOT NULL CHECK (last_serial >= 1)
);
REVOKE DELETE ON invoice_counters FROM app;

-- One row per order that was ever paid, written in the transaction that made it paid. Its file comes later.
CREATE TABLE invoices (
    order_id bigint PRIMARY KEY REFERENCES orders,
    -- The shop's year, at the moment of the payment.
    year integer NOT NULL,
    serial integer NOT NULL CHECK (serial >= 1),
    -- INV/2026/000001; lpad would cut a longer number.
    number text NOT NULL UNIQUE GENERATED ALWAYS AS (
        'INV/' || year::text || '/' || lpad(serial::text, greatest(6, length(serial::text)), '0')
    ) STORED,
    version integer NOT NULL DEFAULT 1 CHECK (version >= 1),
    created_at timestamptz NOT NULL DEFAULT now(),
    -- Where the file of this version is, once it is there.
    object_key text CHECK (length(object_key) BETWEEN 1 AND 1024),
    made_at timestamptz,
    CONSTRAINT invoices_one_per_number UNIQUE (year, serial),
    CONSTRAINT invoices_made_with_their_file CHECK ((object_key IS NULL) = (made_at IS NULL))
);
-- A number that was given stays given.
REVOKE UPDATE, DELETE ON invoices FROM app;
GRANT UPDATE (object_key, made_at) ON invoices TO app;

-- As for invoices.
CREATE TABLE credit_note_counters (
    year integer PRIMARY KEY CHECK (year BETWEEN 2000 AND 9999),
    last_serial integer NOT NULL CHECK (last_serial >= 1)
);
REVOKE DELETE ON credit_note_counters FROM app;

-- What of an invoice is taken back, written in the transaction that books the refund. Its file comes later.
CREATE TABLE credit_notes (
    order_id bigint NOT NULL REFERENCES invoices (order_id),
    -- The shop's year, at the moment of issue.
    year integer NOT NULL,
    serial integer NOT NULL CHECK (serial >= 1),
    -- CN/2026/000001; lpad would cut a longer number.
    number text NOT NULL UNIQUE GENERATED ALWAYS AS (
        'CN/' || year::text || '/' || lpad(serial::text, greatest(6, length(serial::text)), '0')
    ) STORED,
    amount_rupiah bigint NOT NULL CHECK (amount_rupiah > 0),
    -- With those before it, of the same invoice.
    credited_rupiah bigint NOT NULL CHECK (credited_rupiah >= amount_rupiah),
    created_at timestamptz NOT NULL DEFAULT now(),
    object_key text CHECK (length(object_key) BETWEEN 1 AND 1024),
    made_at timestamptz,
    PRIMARY KEY (year, serial),
    CONSTRAINT credit_notes_credit_once UNIQUE (order_id, credited_rupiah),
    CONSTRAINT credit_notes_made_with_their_file CHECK ((object_key IS NULL) = (made_at IS NULL))
);
-- What a reconciliation looks through.
CREATE INDEX credit_notes_created_at_idx ON credit_notes (created_at);
-- A number that was given stays given.
REVOKE UPDATE, DELETE ON credit_notes FROM app;
GRANT UPDATE (object_key, made_at) ON credit_notes TO app;

-- Each time that more of an order's money has gone back: what the customer is told, once. Written under the lock of the
-- order; `returned_rupiah` is all that went back so far, of every payment.
CREATE TABLE order_refunds (
    order_id bigint NOT NULL REFERENCES orders,
    refund_no integer NOT NULL CHECK (refund_no >= 1),
    amount_rupiah bigint NOT NULL CHECK (amount_rupiah > 0),
    returned_rupiah bigint NOT NULL CHECK (returned_rupiah >= amount_rupiah),
    -- The credit note that the customer is told of with the refund. None for a double payment, which no invoice is
    -- about, and for what was given back before there were credit notes.
    credit_note text REFERENCES credit_notes (number),
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (order_id, refund_no),
    CONSTRAINT order_refunds_told_once UNIQUE (order_id, returned_rupiah)
);
REVOKE UPDATE, DELETE ON order_refunds FROM app;
