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

-- People name a finding by its number, and settle what needs nothing more. One that goes and comes again is a new one.
ALTER TABLE reconciliation_findings
    ADD COLUMN id bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
    ADD COLUMN settled_at timestamptz;

-- Payment events that a person gave up: kept as quarantined and reviewed. Taking one up again deletes its row here.
CREATE TABLE set_aside_events (
    event_id uuid PRIMARY KEY REFERENCES payment_events,
    set_aside_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX set_aside_events_at_idx ON set_aside_events (set_aside_at);
