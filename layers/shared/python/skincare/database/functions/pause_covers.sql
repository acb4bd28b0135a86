-- Version 1.
--
-- Whether a pause of this queue (NULL: of every) and of these job types (NULL: of every) holds jobs of that type and
-- queue.
CREATE OR REPLACE FUNCTION pause_covers(p_paused_queue text, p_paused_types text[], p_job_type text, p_queue text)
RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$
    SELECT (p_paused_queue IS NULL OR p_paused_queue = p_queue)
        AND (p_paused_types IS NULL OR p_job_type = ANY (p_paused_types))
$$;
