-- Version 1.
--
-- Writes the anomalies of a locked order, withdraws those that no longer are, and answers which are new. That an order
-- came back from a refund is history: it stands until somebody resolves it, or until the order is refunded once more.
-- The settings are those of record_notification.
CREATE OR REPLACE FUNCTION save_payment_anomalies(
    p_order_id bigint, p_is_refunded boolean, p_event_ids uuid[], p_kinds text[], p_tasks text[], p_amounts bigint[],
    p_give_backs bigint[], p_expected bigint[]
) RETURNS TABLE (event_id uuid, kind text)
LANGUAGE plpgsql
SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
BEGIN
    UPDATE payment_anomalies a SET withdrawn_at = now()
    WHERE a.order_id = p_order_id AND a.withdrawn_at IS NULL AND NOT EXISTS (
        SELECT FROM unnest(p_event_ids, p_kinds) AS f (event_id, kind) WHERE f.event_id = a.event_id AND f.kind = a.kind
    ) AND (a.kind <> 'paid_again' OR p_is_refunded);

    RETURN QUERY
    WITH written AS (
        INSERT INTO payment_anomalies AS a (
            event_id, order_id, kind, task, expected_rupiah, amount_rupiah, give_back_rupiah
        )
        SELECT f.event_id, p_order_id, f.kind, f.task, f.expected, f.amount, f.give_back
        FROM unnest(p_event_ids, p_kinds, p_tasks, p_amounts, p_give_backs, p_expected)
            AS f (event_id, kind, task, amount, give_back, expected)
        ON CONFLICT (event_id, kind) DO UPDATE SET
            give_back_rupiah = EXCLUDED.give_back_rupiah, task = EXCLUDED.task, withdrawn_at = NULL,
            expected_rupiah = EXCLUDED.expected_rupiah
        RETURNING a.event_id, a.kind, a.created_at
    )
    SELECT w.event_id, w.kind FROM written w WHERE w.created_at = now();
END
$$;
