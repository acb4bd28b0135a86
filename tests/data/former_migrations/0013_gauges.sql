-- What is counted each minute must cost nothing while there is nothing to count.
CREATE INDEX jobs_dead_idx ON jobs (last_failed_at) WHERE state IN ('dead_letter', 'investigated');

-- A quarantined event keeps its state for good; a person who has looked at it says so.
ALTER TABLE payment_events ADD COLUMN reviewed_at timestamptz;
GRANT UPDATE (reviewed_at) ON payment_events TO app;
DROP INDEX payment_events_unsettled_idx;
CREATE INDEX payment_events_unsettled_idx ON payment_events (received_at)
WHERE state = 'received' OR (state = 'quarantined' AND reviewed_at IS NULL);
