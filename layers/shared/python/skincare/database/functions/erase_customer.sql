-- Version 1.
--
-- Erases up to p_limit orders of a request's account, the oldest first, and with the last of them the rest of the account.
-- What each column becomes is declared in skincare.customers.columns; a test holds both together.
--
-- Answers one row: outcome 'more' (orders are left), 'erased' (all is done, now or before), 'waits' (something is not over
-- yet and nothing was changed; it says what) or 'superseded' (another job of the request goes on). Any number of calls,
-- also two at once, come to the same.
-- Runs as the owner: the role of the functions may rewrite no evidence, and this is the one way for it to do so.
-- Locks as a checkout does: the cart before the orders, so that none is placed meanwhile.
CREATE OR REPLACE FUNCTION erase_customer(p_request_id bigint, p_look integer, p_limit integer)
RETURNS TABLE (outcome text, orders_erased integer, waiting_for jsonb)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = public, pg_temp
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    r customer_requests;
    v_waits jsonb;
    v_orders bigint[];
    v_numbers text[];
BEGIN
    SELECT * INTO r FROM customer_requests q WHERE q.id = p_request_id AND q.kind = 'erase' FOR UPDATE;
    IF NOT FOUND OR r.finished_at IS NOT NULL THEN
        RETURN QUERY SELECT 'erased', 0, '{}'::jsonb;
        RETURN;
    ELSIF r.look <> p_look THEN
        RETURN QUERY SELECT 'superseded', 0, '{}'::jsonb;
        RETURN;
    END IF;

    PERFORM FROM carts c WHERE c.user_id = r.user_id FOR UPDATE;
    v_orders := ARRAY(
        SELECT o.id FROM orders o WHERE o.user_id = r.user_id ORDER BY o.cart_version LIMIT p_limit FOR UPDATE
    );
    v_waits := customer_waits_for(r.user_id, r.delivered);
    UPDATE customer_requests q SET waits_for = v_waits WHERE q.id = r.id;
    IF v_waits <> '{}' THEN
        RETURN QUERY SELECT 'waits', 0, v_waits;
        RETURN;
    END IF;

    WITH known AS (
        SELECT DISTINCT s.email FROM orders o JOIN suppressed_recipients s ON s.email = lower(o.email)
        WHERE o.id = ANY (v_orders)
    ), doubled AS (
        DELETE FROM suppressed_recipients s USING known k
        WHERE s.email = k.email AND EXISTS (
            SELECT FROM suppressed_recipients h WHERE h.email = address_hash(k.email)
        )
        RETURNING s.email
    )
    UPDATE suppressed_recipients s SET email = address_hash(k.email)
    FROM known k WHERE s.email = k.email AND k.email NOT IN (SELECT d.email FROM doubled d);

    UPDATE payment_attempts a SET redirect_url = NULL WHERE a.order_id = ANY (v_orders);
    UPDATE refunds f SET reason = 'erased', refusal = CASE WHEN f.refusal IS NOT NULL THEN 'erased' END
    WHERE f.order_id = ANY (v_orders);
    UPDATE order_notifications n SET provider_message_id = NULL WHERE n.order_id = ANY (v_orders);
    WITH erased AS (
        UPDATE orders o SET user_id = r.pseudonym, email = 'erased@erased.invalid', recipient_name = NULL,
            shipping_address = NULL, note = NULL, erased_at = now()
        WHERE o.id = ANY (v_orders)
        RETURNING o.order_number
    )
    SELECT array_agg(e.order_number) INTO v_numbers FROM erased e;
    UPDATE payment_events e SET body_sha256 = sha256(e.body), body = NULL
    WHERE e.order_number = ANY (v_numbers) AND e.body IS NOT NULL;
    DELETE FROM idempotency_keys k WHERE k.user_id = r.user_id AND k.order_number = ANY (v_numbers);

    IF cardinality(v_orders) = p_limit THEN
        RETURN QUERY SELECT 'more', cardinality(v_orders), '{}'::jsonb;
        RETURN;
    END IF;
    DELETE FROM carts c WHERE c.user_id = r.user_id;
    DELETE FROM idempotency_keys k WHERE k.user_id = r.user_id;
    UPDATE customer_requests q SET finished_at = now(), user_id = NULL WHERE q.id = r.id;
    RETURN QUERY SELECT 'erased', cardinality(v_orders), '{}'::jsonb;
END
$$;
REVOKE EXECUTE ON FUNCTION erase_customer(bigint, integer, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION erase_customer(bigint, integer, integer) TO app;
