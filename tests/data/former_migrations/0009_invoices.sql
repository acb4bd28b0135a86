-- The last number of each year. Whoever takes the next one holds the row until its transaction ends, so that a
-- transaction that fails gives its number back.
CREATE TABLE invoice_counters (
    year integer PRIMARY KEY CHECK (year BETWEEN 2000 AND 9999),
    last_serial integer NOT NULL CHECK (last_serial >= 1)
);

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
REVOKE DELETE ON invoice_counters FROM app;
