-- Outside of a transaction: jobs are written meanwhile.

DROP INDEX CONCURRENTLY IF EXISTS jobs_publish_at_idx;
DROP INDEX CONCURRENTLY IF EXISTS jobs_unique_key_idx;
DROP INDEX CONCURRENTLY IF EXISTS jobs_dead_letter_idx;
-- The ids of jobs are in the order of their making.
DROP INDEX CONCURRENTLY IF EXISTS jobs_created_at_idx;
-- Products are never deleted.
DROP INDEX CONCURRENTLY IF EXISTS order_items_product_id_idx;
DROP INDEX CONCURRENTLY IF EXISTS cart_items_product_id_idx;

-- Attempts are read by their job, oldest first: one index for what were two.
DROP INDEX CONCURRENTLY IF EXISTS job_attempts_of_a_job_idx;
CREATE UNIQUE INDEX CONCURRENTLY job_attempts_of_a_job_idx ON job_attempts (job_id, id);
ALTER TABLE job_attempts
    DROP CONSTRAINT IF EXISTS job_attempts_pkey,
    ADD CONSTRAINT job_attempts_pkey PRIMARY KEY USING INDEX job_attempts_of_a_job_idx;
DROP INDEX CONCURRENTLY IF EXISTS job_attempts_job_id_idx;
