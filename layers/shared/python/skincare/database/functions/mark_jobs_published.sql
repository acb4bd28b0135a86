-- Version 1.
--
-- Records that jobs were sent and answers how many marks still fitted. p_publish_ats is what their inserts wrote or
-- their take found: a job that has moved on is left alone. The settings are those of claim_jobs, for the same reasons;
-- nothing is joined, for a plan made on an empty table walks all jobs.
CREATE OR REPLACE FUNCTION mark_jobs_published(p_ids uuid[], p_publish_ats timestamptz[]) RETURNS bigint
LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    v_marked bigint;
BEGIN
    UPDATE jobs j SET
        state = CASE j.state WHEN 'pending' THEN 'queued' ELSE j.state END,
        sends = j.sends + 1,
        publish_at = now() + CASE
            WHEN j.state = 'dead_letter' THEN interval '13 days'
            ELSE rescue_delay(j.sends)
        END
    WHERE j.id = ANY (p_ids) AND j.publish_at = p_publish_ats[array_position(p_ids, j.id)];
    GET DIAGNOSTICS v_marked = ROW_COUNT;
    RETURN v_marked;
END
$$;
