-- Version 1.
--
-- What of an account is not over yet, so that it cannot be erased: counts by kind, without those that are zero. One
-- statement, for an order that is paid meanwhile must be seen with its payment or with the invoice that follows it.
-- p_delivered says that nothing is on its way; otherwise a paid order is waited for as long as goods may travel and come
-- back, because no table tells where they are.
-- One account is looked at, so joins go by index, also where the plan is of a time when the tables were empty.
CREATE OR REPLACE FUNCTION customer_waits_for(p_user_id text, p_delivered boolean DEFAULT false) RETURNS jsonb
LANGUAGE sql STABLE
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
    WITH o AS MATERIALIZED (
        SELECT id, order_number, status, paid_at FROM orders WHERE user_id = p_user_id
    ), j AS MATERIALIZED (
        SELECT u.state FROM o JOIN jobs u ON u.order_number = o.order_number WHERE u.publish_at IS NOT NULL
    ), counted (kind, n) AS (
        SELECT 'unpaid_orders', count(*) FROM o WHERE status = 'pending'
        UNION ALL
        SELECT 'orders_on_their_way', count(*) FROM o
        WHERE status IN ('paid', 'partially_refunded') AND paid_at > now() - interval '30 days' AND NOT p_delivered
        UNION ALL
        SELECT 'open_payment_pages', count(*) FROM o JOIN payment_attempts a ON a.order_id = o.id
        WHERE a.expires_at > now() AND a.closed_at IS NULL
            AND NOT EXISTS (SELECT FROM payments p WHERE p.order_id = o.id AND p.pays_order)
        UNION ALL
        SELECT 'unfinished_jobs', count(*) FROM j WHERE state <> 'dead_letter'
        UNION ALL
        SELECT 'dead_jobs', count(*) FROM j WHERE state = 'dead_letter'
        UNION ALL
        SELECT 'open_refunds', count(*) FROM o JOIN refunds r ON r.order_id = o.id WHERE r.state IN ('requested', 'sent')
        UNION ALL
        SELECT 'open_anomalies', count(*) FROM o JOIN payment_anomalies a ON a.order_id = o.id
        WHERE a.withdrawn_at IS NULL AND a.resolved_at IS NULL
        UNION ALL
        SELECT 'open_payment_events', count(*) FROM o JOIN payment_events e ON e.order_number = o.order_number
        WHERE (e.state = 'received' AND NOT EXISTS (SELECT FROM set_aside_events s WHERE s.event_id = e.id))
            OR (e.state = 'quarantined' AND e.reviewed_at IS NULL)
        UNION ALL
        SELECT 'documents_to_make', count(*) FROM o LEFT JOIN invoices v ON v.order_id = o.id
        WHERE o.paid_at IS NOT NULL AND v.made_at IS NULL
        UNION ALL
        SELECT 'documents_to_make', count(*) FROM o JOIN credit_notes n ON n.order_id = o.id WHERE n.made_at IS NULL
        UNION ALL
        SELECT 'exports', count(*) FROM customer_requests
        WHERE user_id = p_user_id AND kind = 'export' AND finished_at IS NULL
    )
    SELECT coalesce(jsonb_object_agg(kind, n), '{}') FROM (
        SELECT kind, sum(n)::bigint AS n FROM counted GROUP BY kind HAVING sum(n) > 0
    ) c
$$;
