-- Version 1.
--
-- Writes a payment of a locked order as its events add up to; answers false where the transaction is another order's.
-- The settings are those of record_notification.
CREATE OR REPLACE FUNCTION save_payment(
    p_order_id bigint, p_gateway text, p_transaction_id text, p_status text, p_amount_rupiah bigint,
    p_refunded_rupiah bigint, p_charged_back_rupiah bigint, p_event_id uuid, p_pays_order boolean
) RETURNS boolean
LANGUAGE plpgsql
SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    INSERT INTO payments AS p (
        order_id, gateway, transaction_id, status, amount_rupiah, refunded_rupiah, charged_back_rupiah, event_id,
        pays_order
    ) VALUES (
        p_order_id, p_gateway, p_transaction_id, p_status, p_amount_rupiah, p_refunded_rupiah, p_charged_back_rupiah,
        p_event_id, p_pays_order
    ) ON CONFLICT (gateway, transaction_id) DO UPDATE SET
        status = EXCLUDED.status, amount_rupiah = EXCLUDED.amount_rupiah,
        refunded_rupiah = EXCLUDED.refunded_rupiah, charged_back_rupiah = EXCLUDED.charged_back_rupiah,
        event_id = EXCLUDED.event_id, pays_order = EXCLUDED.pays_order, updated_at = now()
    WHERE p.order_id = EXCLUDED.order_id;
    RETURN FOUND;
END
$$;
