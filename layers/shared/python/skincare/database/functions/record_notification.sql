-- Version 1.
--
-- Records how telling a customer ended; answers false where somebody recorded it before.
-- A function, as all that inserts below an order: the check of its foreign key keeps its plan for the life of a session,
-- and is planned with these settings.
CREATE OR REPLACE FUNCTION record_notification(
    p_order_id bigint, p_notification_type text, p_status text, p_provider_message_id text, p_reason text
) RETURNS boolean
LANGUAGE plpgsql
SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    INSERT INTO order_notifications (order_id, notification_type, status, provider_message_id, reason)
    VALUES (p_order_id, p_notification_type, p_status, p_provider_message_id, p_reason)
    ON CONFLICT (order_id, notification_type) DO NOTHING;
    RETURN FOUND;
END
$$;
