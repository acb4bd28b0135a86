-- Version 1.
--
-- Whether a pause that is on holds jobs of this type and queue.
CREATE OR REPLACE FUNCTION job_is_paused(p_job_type text, p_queue text) RETURNS boolean
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    RETURN EXISTS (
        SELECT FROM job_pauses p
        WHERE p.resumed_at IS NULL AND p.ends_at > now()
            AND (p.queue IS NULL OR p.queue = p_queue) AND (p.job_types IS NULL OR p_job_type = ANY (p.job_types))
    );
END
$$;
