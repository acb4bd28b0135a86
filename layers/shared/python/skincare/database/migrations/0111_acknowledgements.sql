-- That somebody knows of a dead job, until when: no state of the job, and of one dead letter only. A job that comes back and
-- dies again has another dead_letter_no, so nobody has acknowledged that.
CREATE TABLE dead_letter_acknowledgements (
    job_id uuid NOT NULL REFERENCES jobs ON DELETE CASCADE,
    dead_letter_no integer NOT NULL CHECK (dead_letter_no >= 1),
    -- What the caller said it is, as in operations_audit.
    claimed_identity text NOT NULL CHECK (length(claimed_identity) BETWEEN 1 AND 2048),
    reason text NOT NULL CHECK (length(reason) BETWEEN 1 AND 500),
    acknowledged_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (job_id, dead_letter_no),
    -- Whatever a clock does, nothing is acknowledged for good.
    CONSTRAINT dead_letter_acknowledgements_end CHECK (
        expires_at > acknowledged_at AND expires_at <= acknowledged_at + interval '90 days'
    )
);
