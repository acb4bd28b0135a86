-- Version 2.
--
-- Takes up to p_limit jobs of these queues whose publish_at has come, in the order of the schedule: another taker gets
-- them again in 60 s unless they are marked. publish_at stays, for it tells since when a job is due.
-- What a pause holds stays due; dead letters go out all the same.
-- The settings have the schedule walked from its beginning and each job looked up, until there are enough.
CREATE OR REPLACE FUNCTION take_due_jobs(p_queues text[], p_limit integer) RETURNS SETOF jobs
LANGUAGE plpgsql
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    RETURN QUERY
    UPDATE jobs t SET taken_at = now(), publish_at = greatest(t.publish_at, '2000-01-01 00:00+00')
    WHERE t.id = ANY (ARRAY(
        SELECT j.id FROM job_schedule s JOIN jobs j ON j.id = s.job_id
        WHERE s.look_at <= now() AND j.publish_at <= now() AND j.queue = ANY (p_queues)
            AND (j.taken_at IS NULL OR j.taken_at <= now() - interval '60 seconds' OR j.publish_at > j.taken_at)
            AND (
                NOT EXISTS (SELECT FROM job_pauses p WHERE p.resumed_at IS NULL AND p.ends_at > now())
                OR j.state = 'dead_letter' OR NOT job_is_paused(j.job_type, j.queue)
            )
        ORDER BY s.look_at LIMIT p_limit FOR UPDATE OF j SKIP LOCKED
    ))
    RETURNING t.*;
END
$$;
