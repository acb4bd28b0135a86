-- With claim_jobs.sql, take_due_jobs.sql, job_is_paused.sql, job_age_s.sql: docs/job-lifecycle.md, Pauses.

-- Jobs that a person holds back. Rows stay: budgets leave out the time that a job was paused.
CREATE TABLE job_pauses (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- What was asked for; all has no name.
    scope text NOT NULL CHECK (scope IN ('queue', 'type', 'provider', 'all')),
    name text NOT NULL CHECK (length(name) <= 100),
    -- Which jobs that means: those of the queue and of one of the types; NULL is any.
    queue text,
    job_types text[],
    reason text NOT NULL CHECK (length(reason) BETWEEN 1 AND 500),
    -- What the caller says it is; the audit has the proof.
    paused_by text NOT NULL CHECK (length(paused_by) BETWEEN 1 AND 2048),
    paused_at timestamptz NOT NULL DEFAULT now(),
    ends_at timestamptz NOT NULL,
    -- Set when a person ended it, so that a clock that is put back does not begin it again.
    resumed_at timestamptz,
    CHECK ((scope = 'all') = (name = '')),
    CHECK ((scope = 'queue') = (queue IS NOT NULL) AND (scope IN ('type', 'provider')) = (job_types IS NOT NULL))
);
CREATE UNIQUE INDEX job_pauses_once_idx ON job_pauses (scope, name) WHERE resumed_at IS NULL;
-- Each claim asks whether there has been any of late.
CREATE INDEX job_pauses_over_at_idx ON job_pauses (coalesce(resumed_at, ends_at));

REVOKE DELETE ON job_pauses FROM app;
