-- Version 2.
--
<<<<<<< HEAD
-- Enqueues a job: call it in the transaction that writes the business rows. Answers its publish_at, or NULL where an
-- unfinished job has the same key already. Without a time to run at, whoever enqueued publishes it, and a worker has two
-- minutes to claim it before the relay publishes it again.
||||||| 628f73b
-- Enqueues a job: call it in the transaction that writes the business rows. Answers its publish_at, or NULL where an
-- unfinished job has the same key already. Without a time to run at, whoever enqueued has 30 seconds to publish it before
-- the relay does.
=======
-- Enqueues one job: see enqueue_jobs. Answers its publish_at, or NULL where an unfinished job has the same key already.
>>>>>>> main
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
<<<<<<< HEAD
    INSERT INTO jobs (
        id, job_type, queue, payload, order_number, request_id, trace_id, run_at, publish_at, budget_from, unique_key
    ) VALUES (
        p_id, p_job_type, p_queue, p_payload, p_order_number, p_request_id, p_trace_id, p_run_at,
        coalesce(p_run_at, now() + interval '2 minutes'), coalesce(p_run_at, now()), p_unique_key
    )
    ON CONFLICT (unique_key) WHERE unique_key IS NOT NULL AND publish_at IS NOT NULL DO NOTHING
    RETURNING publish_at INTO v_publish_at;
    RETURN v_publish_at;
||||||| 628f73b
    INSERT INTO jobs (
        id, job_type, queue, payload, order_number, request_id, trace_id, run_at, publish_at, budget_from, unique_key
    ) VALUES (
        p_id, p_job_type, p_queue, p_payload, p_order_number, p_request_id, p_trace_id, p_run_at,
        coalesce(p_run_at, now() + interval '30 seconds'), coalesce(p_run_at, now()), p_unique_key
    )
    ON CONFLICT (unique_key) WHERE unique_key IS NOT NULL AND publish_at IS NOT NULL DO NOTHING
    RETURNING publish_at INTO v_publish_at;
    RETURN v_publish_at;
=======
    RETURN (
        SELECT e.publish_at FROM enqueue_jobs(
            ARRAY[p_id], ARRAY[p_job_type], ARRAY[p_queue], ARRAY[p_payload], ARRAY[p_run_at], ARRAY[p_unique_key],
            p_order_number, p_request_id, p_trace_id
        ) e
    );
>>>>>>> main
END
$$;
