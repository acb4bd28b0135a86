-- Version 2.
--
-- Removes jobs that finished longer ago than they are kept, with their attempts. Never one that is dead or unfinished.
-- Looks at the p_limit oldest ones behind p_after, for ids are in the order of time; answers how many it removed and
-- where the next step begins, NULL where only younger ones follow. A row that somebody holds waits for the next run.
-- Runs as the owner, for the role of the functions may delete no job. Its settings keep it and its triggers to indexes
-- whatever the tables held when they were last analysed: without them a step of ten reads four thousand rows of as many.
CREATE OR REPLACE FUNCTION prune_jobs(p_limit integer, p_after text DEFAULT NULL)
RETURNS TABLE (removed integer, next text)
LANGUAGE sql SECURITY DEFINER
SET search_path = public, pg_temp SET lock_timeout = '500ms'
SET enable_seqscan = off SET enable_bitmapscan = off SET plan_cache_mode = force_custom_plan AS $$
    WITH looked AS MATERIALIZED (
        SELECT j.id, j.created_at FROM jobs j
        WHERE j.id > coalesce(p_after, '00000000-0000-0000-0000-000000000000')::uuid
        ORDER BY j.id LIMIT p_limit
    ), due AS MATERIALIZED (
        SELECT j.id FROM jobs j
        WHERE j.id = ANY (ARRAY(SELECT l.id FROM looked l)) AND j.state IN ('completed', 'cancelled')
            AND j.created_at < now() - kept_for('jobs') AND j.finished_at < now() - kept_for('jobs')
        ORDER BY j.id FOR UPDATE SKIP LOCKED
    ), gone AS (
        DELETE FROM jobs j WHERE j.id = ANY (ARRAY(SELECT d.id FROM due d)) RETURNING 1
    ), last AS (
        SELECT l.id, l.created_at FROM looked l ORDER BY l.id DESC LIMIT 1
    )
    SELECT (SELECT count(*) FROM gone)::integer, (
        SELECT l.id::text FROM last l
        WHERE (SELECT count(*) FROM looked) = p_limit AND l.created_at < now() - kept_for('jobs')
    )
$$;
REVOKE EXECUTE ON FUNCTION prune_jobs(integer, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION prune_jobs(integer, text) TO app;
