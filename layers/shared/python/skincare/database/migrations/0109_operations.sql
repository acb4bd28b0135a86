-- Messages from a dead-letter queue that belong to no job: kept whole, once each, until a person closes them.
CREATE TABLE quarantined_messages (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    queue text NOT NULL CHECK (length(queue) BETWEEN 1 AND 80),
    -- Made by the functions, of the queue, the body and all attributes: a copy that is met again is no second finding.
    content_hash bytea NOT NULL CONSTRAINT quarantined_messages_once UNIQUE,
    body text NOT NULL,
    attributes jsonb NOT NULL CHECK (jsonb_typeof(attributes) = 'object'),
    -- Attributes that are no text, as base64.
    binary_attributes jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(binary_attributes) = 'object'),
    reason text NOT NULL CHECK (length(reason) BETWEEN 1 AND 1000),
    found_at timestamptz NOT NULL DEFAULT now(),
    last_found_at timestamptz NOT NULL DEFAULT now(),
    closed_at timestamptz
);
CREATE INDEX quarantined_messages_open_idx ON quarantined_messages (id) WHERE closed_at IS NULL;

-- What a function may note later is when it was met again and that somebody has dealt with it.
REVOKE UPDATE, DELETE ON quarantined_messages FROM app;
GRANT UPDATE (last_found_at, closed_at) ON quarantined_messages TO app;

-- Who changed what, when and why: written in the transaction of the change, and never rewritten.
CREATE TABLE operations_audit (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at timestamptz NOT NULL DEFAULT now(),
    -- What the caller says it is, as STS told it. The proof is in CloudTrail, under the invocation.
    claimed_identity text NOT NULL CHECK (length(claimed_identity) BETWEEN 1 AND 2048),
    invocation_id text NOT NULL CHECK (length(invocation_id) BETWEEN 1 AND 100),
    operation text NOT NULL CHECK (length(operation) BETWEEN 1 AND 100),
    reason text CHECK (length(reason) BETWEEN 1 AND 500),
    request jsonb NOT NULL CHECK (jsonb_typeof(request) = 'object'),
    -- What it hit: counts by outcome.
    counts jsonb NOT NULL CHECK (jsonb_typeof(counts) = 'object')
);
CREATE INDEX operations_audit_at_idx ON operations_audit (at);
REVOKE UPDATE, DELETE ON operations_audit FROM app;
