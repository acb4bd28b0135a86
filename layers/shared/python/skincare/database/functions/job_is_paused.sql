-- Version 2.
--
-- Whether a pause that is on holds jobs of this type and queue.
CREATE OR REPLACE FUNCTION job_is_paused(p_job_type text, p_queue text) RETURNS boolean
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    RETURN EXISTS (
        SELECT FROM job_pauses p
        WHERE p.resumed_at IS NULL AND p.ends_at > now()
            AND pause_covers(p.queue, p.job_types, p_job_type, p_queue)
    );
END
$$;
