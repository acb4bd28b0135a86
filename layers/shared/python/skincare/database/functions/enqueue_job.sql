-- Version 2.
--
-- Enqueues one job: see enqueue_jobs. Answers its publish_at, or NULL where an unfinished job has the same key already.
CREATE OR REPLACE FUNCTION enqueue_job(
    p_id uuid,
    p_job_type text,
    p_queue text,
    p_payload jsonb,
    p_order_number text DEFAULT NULL,
    p_request_id text DEFAULT NULL,
    p_trace_id text DEFAULT NULL,
    p_run_at timestamptz DEFAULT NULL,
    p_unique_key text DEFAULT NULL
) RETURNS timestamptz
LANGUAGE plpgsql AS $$
BEGIN
    RETURN (
        SELECT e.publish_at FROM enqueue_jobs(
            ARRAY[p_id], ARRAY[p_job_type], ARRAY[p_queue], ARRAY[p_payload], ARRAY[p_run_at], ARRAY[p_unique_key],
            p_order_number, p_request_id, p_trace_id
        ) e
    );
END
$$;
