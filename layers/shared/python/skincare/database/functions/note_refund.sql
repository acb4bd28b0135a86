-- Version 1.
--
-- Notes that so much of a locked order's money has gone back in all, and answers the number of this refund; NULL where
-- that much, or more, was noted before. The settings are those of record_notification.
CREATE OR REPLACE FUNCTION note_refund(p_order_id bigint, p_returned_rupiah bigint, p_credit_note text) RETURNS integer
LANGUAGE plpgsql
SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    v_refund_no integer;
BEGIN
    INSERT INTO order_refunds AS r (order_id, refund_no, amount_rupiah, returned_rupiah, credit_note)
    SELECT p_order_id, coalesce(max(n.refund_no), 0) + 1, p_returned_rupiah - coalesce(max(n.returned_rupiah), 0),
        p_returned_rupiah, p_credit_note
    FROM order_refunds n WHERE n.order_id = p_order_id
    HAVING coalesce(max(n.returned_rupiah), 0) < p_returned_rupiah
    RETURNING r.refund_no INTO v_refund_no;
    RETURN v_refund_no;
END
$$;
