-- Version 2.
--
-- Enqueues jobs, and nothing else inserts any: call it in the transaction that writes the business rows. Answers each
-- with its publish_at; one whose key an unfinished job has already is left out. Without a time to run at, whoever
-- enqueued publishes it, and a worker has two minutes to claim it before the relay publishes it again. Of two at once
-- with one key the second waits for the first.
-- One statement for all: what a statement pays to be ready for this table is more than what a row costs.
CREATE OR REPLACE FUNCTION enqueue_jobs(
    p_ids uuid[],
    p_job_types text[],
    p_queues text[],
    p_payloads jsonb[],
    p_run_ats timestamptz[],
    p_unique_keys text[],
    p_order_number text,
    p_request_id text,
    p_trace_id text
) RETURNS TABLE (id uuid, publish_at timestamptz)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    WITH new AS (
        SELECT * FROM unnest(p_ids, p_job_types, p_queues, p_payloads, p_run_ats, p_unique_keys)
            AS n (id, job_type, queue, payload, run_at, unique_key)
    ), keys AS (
        INSERT INTO job_keys (unique_key, job_id)
        SELECT n.unique_key, n.id FROM new n WHERE n.unique_key IS NOT NULL
        ON CONFLICT DO NOTHING
        RETURNING job_id
    )
    INSERT INTO jobs AS j (
        id, job_type, queue, payload, order_number, request_id, trace_id, run_at, publish_at, budget_from, unique_key
    )
    SELECT n.id, n.job_type, n.queue, n.payload, p_order_number, p_request_id, p_trace_id, n.run_at,
        coalesce(n.run_at, now() + interval '2 minutes'), coalesce(n.run_at, now()), n.unique_key
    FROM new n WHERE n.unique_key IS NULL OR n.id IN (SELECT k.job_id FROM keys k)
    RETURNING j.id, j.publish_at;
END
$$;
