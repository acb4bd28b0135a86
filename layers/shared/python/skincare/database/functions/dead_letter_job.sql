-- Version 1.
--
-- What changes when a job dies, whoever finds it dead. Only for whoever holds the job's lock; answers false where it is
-- not live any more.
CREATE OR REPLACE FUNCTION dead_letter_job(p_id uuid, p_error_class text, p_error_message text, p_crashes integer DEFAULT 0)
RETURNS boolean
LANGUAGE plpgsql
SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    UPDATE jobs j SET state = 'dead_letter', publish_at = now(), dead_letter_no = j.dead_letter_no + 1, retry_at = NULL,
        lease_token = NULL, leased_at = NULL, lease_until = NULL, crashes = j.crashes + p_crashes,
        first_failed_at = coalesce(j.first_failed_at, now()), last_failed_at = now(),
        error_class = p_error_class, error_message = p_error_message
    WHERE j.id = p_id AND j.state IN ('pending', 'queued', 'retry_waiting', 'processing');
    RETURN FOUND;
END
$$;
