-- As for invoices: the last number of each year, held until its transaction ends, so that one that fails gives it back.
CREATE TABLE credit_note_counters (
    year integer PRIMARY KEY CHECK (year BETWEEN 2000 AND 9999),
    last_serial integer NOT NULL CHECK (last_serial >= 1)
);

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
REVOKE DELETE ON credit_note_counters FROM app;

-- The credit note that the customer is told of with a refund. None for a double payment, which no invoice is about, and
-- for what was given back before there were credit notes.
ALTER TABLE order_refunds ADD COLUMN credit_note text REFERENCES credit_notes (number);
