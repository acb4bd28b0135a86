-- A reconciliation looks through everything in pieces. Where it is stands here, so that whoever goes on does so there.
CREATE TABLE reconciliation_runs (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    started_at timestamptz NOT NULL DEFAULT now(),
    -- Which of its looks comes next, and behind which row its next piece begins.
    step integer NOT NULL DEFAULT 0 CHECK (step >= 0),
    after_at timestamptz,
    after_id bigint,
    finished_at timestamptz,
    CHECK ((after_at IS NULL) = (after_id IS NULL))
);
CREATE UNIQUE INDEX reconciliation_runs_one_is_open_idx ON reconciliation_runs ((true)) WHERE finished_at IS NULL;
REVOKE DELETE ON reconciliation_runs FROM app;

-- What a reconciliation found and could not mend; gone_at once a later one does not find it any more. People name a
-- finding by its number, and settle what needs nothing more. One that goes and comes again is a new one.
CREATE TABLE reconciliation_findings (
    id bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
    kind text NOT NULL CHECK (length(kind) BETWEEN 1 AND 60),
    subject text NOT NULL CHECK (length(subject) BETWEEN 1 AND 300),
    order_number text,
    first_seen_at timestamptz NOT NULL DEFAULT now(),
    last_seen_at timestamptz NOT NULL DEFAULT now(),
    gone_at timestamptz,
    settled_at timestamptz,
    PRIMARY KEY (kind, subject)
);
CREATE INDEX reconciliation_findings_open_idx ON reconciliation_findings (first_seen_at) WHERE gone_at IS NULL;
REVOKE DELETE ON reconciliation_findings FROM app;
