-- Version 3.
--
-- Leases the jobs of a batch that may run now, and says of every other one why not: docs/job-lifecycle.md.
-- p_numbers holds for each job the dead_letter_no that its message carries. Only a claim for one job alone takes
-- suspects: it counts the lease that ran out as a crash, and finds the job dead at the last one.
-- What a pause holds is left as it is, but due at once: its message goes, and the relay sends another when the pause is
-- over. A dead job that somebody sent back from the dead-letter queue comes back from the dead, and waits as well.
-- What waits and never crashed, which is nearly all, is leased by one plain update. Its settings keep it to the primary
-- key whatever the table held when the session planned it, and that also locks rows in the order of their ids.
CREATE OR REPLACE FUNCTION claim_jobs(
    p_ids uuid[], p_numbers integer[], p_token uuid, p_lease interval, p_alone boolean, p_crash_limit integer,
    p_release text
) RETURNS TABLE (
    id uuid, verdict text, crashes integer, wait_s double precision, job_type text, payload text, attempts integer,
    order_number text, request_id text, trace_id text, age_s double precision
)
LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
DECLARE
    v_leased integer;
    -- When the last pause is or was over: jobs that began later need no look at pauses, and so nearly all.
    v_over_at timestamptz := coalesce((SELECT max(coalesce(p.resumed_at, p.ends_at)) FROM job_pauses p), '-infinity');
BEGIN
    RETURN QUERY
    UPDATE jobs j SET state = 'processing', attempts = j.attempts + 1,
        lease_token = p_token, leased_at = now(), lease_until = now() + p_lease,
        publish_at = now() + p_lease + rescue_delay(0), sends = 1, retry_at = NULL,
        release = coalesce(p_release, j.release)
    WHERE j.id = ANY (p_ids) AND j.state IN ('pending', 'queued', 'retry_waiting') AND j.crashes = 0
        AND (coalesce(j.retry_at, j.run_at) > now()) IS NOT TRUE
        AND NOT (v_over_at > now() AND job_is_paused(j.job_type, j.queue))
    RETURNING j.id, 'run', 0, 0::double precision, j.job_type, j.payload::text, j.attempts, j.order_number,
        j.request_id, j.trace_id,
        CASE WHEN v_over_at > j.budget_from THEN job_age_s(j.job_type, j.queue, j.budget_from) ELSE age_s(j.budget_from) END;
    GET DIAGNOSTICS v_leased = ROW_COUNT;
    IF v_leased = cardinality(p_ids) THEN
        RETURN;
    END IF;

    RETURN QUERY
    WITH wanted AS (
        SELECT * FROM unnest(p_ids, p_numbers) AS w (id, dead_letter_no)
        WHERE w.id <> ALL (ARRAY(
            SELECT j.id FROM jobs j WHERE j.id = ANY (p_ids) AND j.lease_token = p_token AND j.leased_at = now()
        ))
    ), locked AS (
        SELECT j.* FROM jobs j WHERE j.id = ANY (ARRAY(SELECT w.id FROM wanted w)) ORDER BY j.id FOR UPDATE
    ), judged AS (
        SELECT l.id, l.job_type, l.lease_until, l.leased_at, l.retry_at, l.run_at, l.crashes, l.release,
            l.state = 'dead_letter' AS dead,
            (l.state = 'processing')::integer AS crashed,
            CASE
                WHEN l.state IN ('completed', 'cancelled') THEN 'done'
                WHEN l.state = 'dead_letter' AND w.dead_letter_no IS DISTINCT FROM l.dead_letter_no THEN 'done'
                WHEN l.state = 'processing' AND l.lease_until > now() THEN 'busy'
                WHEN l.state <> 'dead_letter' AND coalesce(l.retry_at, l.run_at) > now() THEN 'early'
                WHEN v_over_at > now() AND job_is_paused(l.job_type, l.queue) THEN 'paused'
                WHEN l.state = 'dead_letter' OR (l.state <> 'processing' AND l.crashes = 0) THEN 'run'
                WHEN NOT p_alone THEN 'suspect'
                WHEN l.crashes + (l.state = 'processing')::integer >= p_crash_limit THEN 'dead'
                ELSE 'run'
            END AS verdict
        FROM locked l JOIN wanted w ON w.id = l.id
    ), leased AS (
        UPDATE jobs j SET
            state = 'processing',
            attempts = CASE WHEN d.dead THEN 1 ELSE j.attempts + 1 - d.crashed END,
            crashes = CASE WHEN d.dead THEN 0 ELSE j.crashes + d.crashed END,
            first_failed_at = CASE d.crashed WHEN 1 THEN coalesce(j.first_failed_at, d.lease_until)
                ELSE j.first_failed_at END,
            last_failed_at = CASE d.crashed WHEN 1 THEN d.lease_until ELSE j.last_failed_at END,
            budget_from = CASE WHEN d.dead THEN now() ELSE j.budget_from END,
            lease_token = p_token, leased_at = now(), lease_until = now() + p_lease,
            publish_at = now() + p_lease + rescue_delay(0), sends = 1, retry_at = NULL,
            release = coalesce(p_release, j.release)
        FROM judged d
        WHERE j.id = ANY (ARRAY(SELECT r.id FROM judged r WHERE r.verdict = 'run')) AND j.id = d.id
        RETURNING j.*
    ), parked AS (
        UPDATE jobs j SET publish_at = now(), sends = 0,
            state = CASE WHEN d.dead THEN 'pending' ELSE j.state END,
            attempts = CASE WHEN d.dead THEN 0 ELSE j.attempts END,
            crashes = CASE WHEN d.dead THEN 0 ELSE j.crashes END,
            budget_from = CASE WHEN d.dead THEN now() ELSE j.budget_from END
        FROM judged d
        WHERE j.id = ANY (ARRAY(SELECT r.id FROM judged r WHERE r.verdict = 'paused')) AND j.id = d.id
    ), history AS (
        INSERT INTO job_attempts (job_id, started_at, finished_at, outcome, error_class, error_message, release)
        SELECT d.id, d.leased_at, d.lease_until, 'crashed', 'WorkerCrashed', 'the lease ran out', d.release
        FROM judged d WHERE d.crashed = 1 AND d.verdict IN ('run', 'dead')
    )
    SELECT w.id,
        CASE
            WHEN d.id IS NULL THEN 'missing'
            WHEN d.verdict = 'dead' AND NOT dead_letter_job(
                d.id, 'WorkerCrashed', 'the job took its process down time after time', d.crashed
            ) THEN 'done'
            ELSE d.verdict
        END,
        d.crashes,
        extract(epoch FROM least('30 days', greatest('0', coalesce(CASE d.verdict
            WHEN 'busy' THEN d.lease_until
            WHEN 'early' THEN coalesce(d.retry_at, d.run_at)
        END - now(), '0'))))::double precision,
        d.job_type, l.payload::text, l.attempts, l.order_number, l.request_id, l.trace_id,
        CASE WHEN v_over_at > l.budget_from THEN job_age_s(l.job_type, l.queue, l.budget_from) ELSE age_s(l.budget_from) END
    FROM wanted w LEFT JOIN judged d ON d.id = w.id LEFT JOIN leased l ON l.id = w.id;
END
$$;
