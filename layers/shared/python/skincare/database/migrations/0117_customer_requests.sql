-- Outside of a transaction: orders are placed and events are written meanwhile.

-- What customers ask about their personal data. A row names its account only until it is done.
CREATE TABLE IF NOT EXISTS customer_requests (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind text NOT NULL CHECK (kind IN ('export', 'erase')),
    user_id text CHECK (length(user_id) BETWEEN 1 AND 255),
    -- What an erased account's orders belong to afterwards.
    pseudonym text NOT NULL UNIQUE DEFAULT 'erased:' || gen_random_uuid(),
    -- Nothing is on its way to the customer: a paid order is not waited for.
    delivered boolean NOT NULL DEFAULT false,
    -- Which of its jobs may act: each one that has to wait leaves the next number to another.
    look integer NOT NULL DEFAULT 1 CHECK (look >= 1),
    -- What the last look waited for: counts by kind.
    waits_for jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(waits_for) = 'object'),
    -- Where an export's file is.
    object_key text CHECK (length(object_key) BETWEEN 1 AND 1024),
    created_at timestamptz NOT NULL DEFAULT now(),
    finished_at timestamptz,
    CONSTRAINT customer_requests_name_nobody_once_done CHECK ((finished_at IS NULL) = (user_id IS NOT NULL)),
    CONSTRAINT customer_requests_exports_have_a_file CHECK (
        (object_key IS NOT NULL) = (kind = 'export' AND finished_at IS NOT NULL)
    )
);
CREATE UNIQUE INDEX IF NOT EXISTS customer_requests_open_idx ON customer_requests (user_id, kind)
WHERE finished_at IS NULL;
REVOKE DELETE ON customer_requests FROM app;

ALTER TABLE orders ADD COLUMN IF NOT EXISTS erased_at timestamptz;

-- By which the accounts of an address are found.
DROP INDEX CONCURRENTLY IF EXISTS orders_address_idx;
CREATE INDEX CONCURRENTLY orders_address_idx ON orders (lower(email)) WHERE erased_at IS NULL;
