-- Outside of a transaction: jobs are written meanwhile.

DROP INDEX CONCURRENTLY IF EXISTS jobs_publish_at_idx;
DROP INDEX CONCURRENTLY IF EXISTS jobs_unique_key_idx;
DROP INDEX CONCURRENTLY IF EXISTS jobs_dead_letter_idx;
-- The ids of jobs are in the order of their making.
DROP INDEX CONCURRENTLY IF EXISTS jobs_created_at_idx;
-- Products are never deleted.
DROP INDEX CONCURRENTLY IF EXISTS order_items_product_id_idx;
DROP INDEX CONCURRENTLY IF EXISTS cart_items_product_id_idx;
