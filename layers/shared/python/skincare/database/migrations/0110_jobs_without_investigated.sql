-- Outside of a transaction: jobs are written meanwhile.

-- A redrive leads from dead to pending at once, so no job was ever seen between the two.
ALTER TABLE jobs
    DROP CONSTRAINT jobs_state_check,
    ADD CONSTRAINT jobs_state_check CHECK (state IN (
        'pending', 'queued', 'processing', 'retry_waiting', 'completed', 'dead_letter', 'cancelled'
    )) NOT VALID;
ALTER TABLE jobs VALIDATE CONSTRAINT jobs_state_check;

-- What is counted each minute must cost nothing while there is nothing to count.
DROP INDEX CONCURRENTLY IF EXISTS jobs_dead_letter_idx;
CREATE INDEX CONCURRENTLY jobs_dead_letter_idx ON jobs (last_failed_at) WHERE state = 'dead_letter';
DROP INDEX CONCURRENTLY IF EXISTS jobs_dead_idx;
