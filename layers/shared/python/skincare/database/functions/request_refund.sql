-- Version 1.
--
-- Writes a new refund of a locked order; answers false where its key is another refund's. The settings are those of
-- record_notification.
CREATE OR REPLACE FUNCTION request_refund(
    p_key text, p_order_id bigint, p_gateway text, p_transaction_id text, p_amount_rupiah bigint, p_reason text,
    p_requested_by text, p_keep_stock boolean
) RETURNS boolean
LANGUAGE plpgsql
SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    INSERT INTO refunds (key, order_id, gateway, transaction_id, amount_rupiah, reason, requested_by, keep_stock)
    VALUES (
        p_key, p_order_id, p_gateway, p_transaction_id, p_amount_rupiah, p_reason, p_requested_by, p_keep_stock
    ) ON CONFLICT (key) DO NOTHING;
    RETURN FOUND;
END
$$;
