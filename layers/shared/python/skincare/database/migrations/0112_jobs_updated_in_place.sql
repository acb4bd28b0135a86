-- With enqueue_jobs.sql, enqueue_job.sql, cancel_timer.sql, jobs_keep_schedule.sql, jobs_keep_keys.sql,
-- jobs_keep_dead.sql, jobs_take_their_rows_along.sql: no job is written without its rows here, from the first moment.

-- What is found by a column that changes stands in a narrow table of its own, so that no index of jobs has to follow
-- an update. Triggers keep these tables, whichever release writes.
LOCK TABLE jobs IN SHARE ROW EXCLUSIVE MODE;

-- When to look at a job: no later than its publish_at. Rows that turn out too early are put right when they are met.
CREATE TABLE job_schedule (
    look_at timestamptz NOT NULL,
    job_id uuid NOT NULL,
    PRIMARY KEY (look_at, job_id)
);
INSERT INTO job_schedule (look_at, job_id) SELECT publish_at, id FROM jobs WHERE publish_at IS NOT NULL;

-- The unfinished job of each key.
CREATE TABLE job_keys (
    unique_key text PRIMARY KEY,
    job_id uuid NOT NULL
);
INSERT INTO job_keys (unique_key, job_id)
SELECT unique_key, id FROM jobs WHERE unique_key IS NOT NULL AND publish_at IS NOT NULL;

-- What is counted each minute must cost nothing while there is nothing to count.
CREATE TABLE dead_jobs (
    job_id uuid PRIMARY KEY
);
INSERT INTO dead_jobs (job_id) SELECT id FROM jobs WHERE state = 'dead_letter';

-- An attempt is written by the statement that holds its job: the key was checked for nothing.
ALTER TABLE job_attempts DROP CONSTRAINT job_attempts_job_id_fkey;

-- The versions of a job that wait for their vacuum need room beside it.
ALTER TABLE jobs SET (fillfactor = 50);

-- Waiting for a fifth of a table to be dead, as PostgreSQL does by itself, is waiting for months once it is large. The
-- narrow tables are small and pass everything through.
ALTER TABLE jobs SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);
ALTER TABLE job_attempts SET (autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02);
ALTER TABLE job_schedule SET (
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000,
    autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 1000
);
ALTER TABLE job_keys SET (
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000,
    autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 1000
);
ALTER TABLE orders SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);
ALTER TABLE order_items SET (autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02);
ALTER TABLE payment_events SET (autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02);
ALTER TABLE products SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 500);
ALTER TABLE carts SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 500);
ALTER TABLE cart_items SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 500);
