-- Outside of a transaction: each statement by itself, and all of them again after a failure.

-- Orders placed before keep their time: it ends a quarter of an hour before their timer goes off.
UPDATE orders o SET expires_at = least(o.created_at + interval '24 hours', coalesce(
    (
        SELECT max(j.run_at) FROM jobs j
        WHERE j.order_number = o.order_number AND j.job_type = 'expire_order' AND j.run_at > o.created_at
    ) - interval '15 minutes',
    o.created_at + interval '24 hours'
))
WHERE o.status = 'pending' AND o.expires_at IS NULL;

ALTER TABLE orders VALIDATE CONSTRAINT orders_paid_within_a_day;

-- What a checkout counts. An index that was not finished is in the way of the next try.
DROP INDEX CONCURRENTLY IF EXISTS orders_open_idx;

CREATE INDEX CONCURRENTLY orders_open_idx ON orders (user_id) WHERE status = 'pending';
