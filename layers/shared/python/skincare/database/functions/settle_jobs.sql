-- Version 1.
--
-- Records how leased jobs ended and answers those whose lease this token still was: docs/job-lifecycle.md.
-- Those that completed are apart, for they are nearly all: one plain update. The others are described by arrays; their
-- outcomes are 'retry', 'dead_letter', and 'handed_back' for one that was not started, whose attempt is returned.
-- The settings are those of claim_jobs, for the same reasons.
CREATE OR REPLACE FUNCTION settle_jobs(
    p_token uuid, p_completed uuid[], p_ids uuid[], p_outcomes text[], p_delays interval[], p_classes text[],
    p_messages text[]
) RETURNS TABLE (id uuid)
LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
BEGIN
    IF cardinality(p_completed) > 0 THEN
        -- leased_at stays: it tells when the last attempt began, also to the statement itself.
        RETURN QUERY
        WITH ended AS (
            UPDATE jobs j SET state = 'completed', publish_at = NULL, retry_at = NULL, finished_at = now(),
                lease_token = NULL, lease_until = NULL
            WHERE j.id = ANY (p_completed) AND j.state = 'processing' AND j.lease_token = p_token
            RETURNING j.id, j.leased_at, j.release
        ), history AS (
            INSERT INTO job_attempts (job_id, started_at, outcome, release)
            SELECT e.id, e.leased_at, 'completed', e.release FROM ended e
        )
        SELECT e.id FROM ended e;
    END IF;

    IF cardinality(p_ids) > 0 THEN
        RETURN QUERY
        WITH locked AS (
            SELECT j.id, j.leased_at, j.release FROM jobs j
            WHERE j.id = ANY (p_ids) AND j.state = 'processing' AND j.lease_token = p_token
            ORDER BY j.id FOR UPDATE
        ), ended AS MATERIALIZED (
            SELECT g.*, l.leased_at, l.release
            FROM unnest(p_ids, p_outcomes, p_delays, p_classes, p_messages)
                AS g (id, outcome, delay, error_class, error_message)
            JOIN locked l ON l.id = g.id
        ), settled AS (
            UPDATE jobs j SET
                state = CASE e.outcome WHEN 'retry' THEN 'retry_waiting' ELSE 'queued' END,
                publish_at = now() + coalesce(e.delay, '0') + rescue_delay(0),
                retry_at = now() + e.delay,
                attempts = j.attempts - (e.outcome = 'handed_back')::integer,
                first_failed_at = CASE WHEN e.error_class IS NULL THEN j.first_failed_at
                    ELSE coalesce(j.first_failed_at, now()) END,
                last_failed_at = CASE WHEN e.error_class IS NULL THEN j.last_failed_at ELSE now() END,
                error_class = coalesce(e.error_class, j.error_class),
                error_message = coalesce(e.error_message, j.error_message),
                lease_token = NULL, leased_at = NULL, lease_until = NULL
            FROM ended e WHERE j.id = ANY (p_ids) AND j.id = e.id AND e.outcome <> 'dead_letter'
        ), history AS (
            INSERT INTO job_attempts (job_id, started_at, outcome, error_class, error_message, release)
            SELECT e.id, e.leased_at, e.outcome, e.error_class, e.error_message, e.release
            FROM ended e WHERE e.outcome <> 'handed_back'
        )
        SELECT e.id FROM ended e
        WHERE CASE e.outcome WHEN 'dead_letter' THEN dead_letter_job(e.id, e.error_class, e.error_message) ELSE true END;
    END IF;
END
$$;
