ALTER TABLE payment_attempts
    -- Since when nobody is sent to its page any more, where that is earlier than its end.
    ADD COLUMN closed_at timestamptz,
    -- When its time was over and its gateway knew of no money; an expiry that has many to ask goes on from there.
    ADD COLUMN checked_at timestamptz;

-- Refunds that a gateway would not make, for the reconciliation.
CREATE INDEX refunds_refused_idx ON refunds (created_at) WHERE state = 'refused';

-- As before, and the order waits as well for a paid event that was set aside until a person has looked at it: what our
-- gateway never confirmed, or what names another merchant, may be money all the same.
CREATE OR REPLACE FUNCTION expire_order(p_order_number text, p_attempts bigint) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
    v_order_id bigint;
    v_status text;
BEGIN
    SELECT o.id, o.status INTO v_order_id, v_status FROM orders o
    WHERE o.order_number = p_order_number FOR UPDATE;
    IF v_status IS DISTINCT FROM 'pending' THEN
        RETURN v_status;
    END IF;

    IF EXISTS (
        SELECT 1 FROM payment_events e
        WHERE e.order_number = p_order_number AND e.status = 'paid'
            AND (e.state = 'received' OR (e.state = 'quarantined' AND e.reviewed_at IS NULL))
    ) OR (SELECT count(*) FROM payment_attempts a WHERE a.order_id = v_order_id) <> p_attempts THEN
        RETURN 'waits';
    END IF;

    UPDATE orders o SET status = 'expired', expired_at = now() WHERE o.id = v_order_id;
    PERFORM give_stock_back(v_order_id);
    RETURN 'expired';
END
$$;
