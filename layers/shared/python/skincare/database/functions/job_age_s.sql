-- Version 2.
--
-- Seconds since a moment, without the time in which jobs of this type and queue were paused: what budgets and lateness
-- are counted by. Pauses that overlap count once.
CREATE OR REPLACE FUNCTION job_age_s(p_job_type text, p_queue text, p_since timestamptz) RETURNS double precision
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    RETURN age_s(p_since) - coalesce((
        SELECT extract(epoch FROM sum(upper(h.held) - lower(h.held))) FROM (
            SELECT unnest(range_agg(
                tstzrange(greatest(p.paused_at, p_since), least(p.ends_at, p.resumed_at, now()))
            )) AS held
            FROM job_pauses p
            WHERE greatest(p.paused_at, p_since) < least(p.ends_at, p.resumed_at, now())
                AND pause_covers(p.queue, p.job_types, p_job_type, p_queue)
        ) h
    ), 0);
END
$$;
