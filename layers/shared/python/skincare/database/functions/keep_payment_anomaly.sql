-- Version 1.
--
-- Writes or keeps an anomaly of a locked order that its money alone does not show, and answers whether it is new. The
-- settings are those of record_notification.
CREATE OR REPLACE FUNCTION keep_payment_anomaly(
    p_event_id uuid, p_order_id bigint, p_kind text, p_task text, p_expected_rupiah bigint, p_amount_rupiah bigint,
    p_give_back_rupiah bigint
) RETURNS boolean
LANGUAGE plpgsql
SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    v_is_new boolean;
BEGIN
    INSERT INTO payment_anomalies AS a (
        event_id, order_id, kind, task, expected_rupiah, amount_rupiah, give_back_rupiah
    ) VALUES (
        p_event_id, p_order_id, p_kind, p_task, p_expected_rupiah, p_amount_rupiah, p_give_back_rupiah
    ) ON CONFLICT (event_id, kind) DO UPDATE SET withdrawn_at = NULL
    RETURNING a.created_at = now() INTO v_is_new;
    RETURN v_is_new;
END
$$;
