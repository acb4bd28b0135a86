-- Version 2.
--
-- Enqueues a job: call it in the transaction that writes the business rows. Answers its publish_at, or NULL where an
-- unfinished job has the same key already. Without a time to run at, whoever enqueued has 30 seconds to publish it before
-- the relay does. Of two at once with one key the second waits for the first.
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
DECLARE
    v_publish_at timestamptz;
BEGIN
    IF p_unique_key IS NOT NULL THEN
        INSERT INTO job_keys (unique_key, job_id) VALUES (p_unique_key, p_id) ON CONFLICT DO NOTHING;
        IF NOT FOUND THEN
            RETURN NULL;
        END IF;
    END IF;
    INSERT INTO jobs (
        id, job_type, queue, payload, order_number, request_id, trace_id, run_at, publish_at, budget_from, unique_key
    ) VALUES (
        p_id, p_job_type, p_queue, p_payload, p_order_number, p_request_id, p_trace_id, p_run_at,
        coalesce(p_run_at, now() + interval '30 seconds'), coalesce(p_run_at, now()), p_unique_key
    )
    RETURNING publish_at INTO v_publish_at;
    RETURN v_publish_at;
END
$$;
