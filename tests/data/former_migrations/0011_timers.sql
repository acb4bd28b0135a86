-- Timers: jobs for later that exist once and can be called off.
--
-- At most one unfinished job has a key. A dead one counts: its redrive must find the key free. That a job is
-- unfinished is read from publish_at, which changes with the state anyway and has an index already; rows without a
-- key cost nothing.
ALTER TABLE jobs ADD COLUMN unique_key text CHECK (length(unique_key) BETWEEN 1 AND 200);
CREATE UNIQUE INDEX jobs_unique_key_idx ON jobs (unique_key) WHERE unique_key IS NOT NULL AND publish_at IS NOT NULL;

-- Calls off the unfinished job of a key; one that runs finishes, and its settle hits no row.
CREATE FUNCTION cancel_timer(p_unique_key text) RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
    UPDATE jobs j SET state = 'cancelled', publish_at = NULL, retry_at = NULL, finished_at = now(),
        lease_token = NULL, leased_at = NULL, lease_until = NULL
    WHERE j.unique_key = p_unique_key AND j.publish_at IS NOT NULL;
    RETURN FOUND;
END
$$;

ALTER TABLE orders ADD COLUMN expired_at timestamptz;

-- The trace of X-Ray that the job's request belongs to.
ALTER TABLE jobs ADD COLUMN trace_id text CHECK (length(trace_id) BETWEEN 1 AND 100);

-- As before, with the order's timer and the trace. An older release calls it without the last three arguments while a
-- deploy goes on: its orders expire as well.
DROP FUNCTION place_order(
    text, text, bytea, text, bigint, text, text, text, text, text, text, uuid, text, text, integer
);
CREATE FUNCTION place_order(
    p_user_id text,
    p_key text,
    p_fingerprint bytea,
    p_order_number text,
    p_expected_total_rupiah bigint,
    p_email text,
    p_locale text,
    p_recipient_name text,
    p_shipping_address text,
    p_note text,
    p_request_id text,
    p_job_id uuid,
    p_job_type text,
    p_job_queue text,
    p_maximum_lines integer,
    p_timer_id uuid DEFAULT gen_random_uuid(),
    p_expires_in interval DEFAULT '24 hours 15 minutes',
    p_trace_id text DEFAULT NULL
) RETURNS TABLE (
    outcome text, order_number text, total_rupiah bigint, created_at timestamptz, items jsonb, publish_at timestamptz
)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_number text := p_order_number;
    v_outcome text := 'placed';
    v_publish_at timestamptz;
    v_fingerprint bytea;
    v_version bigint;
    v_order_id bigint;
    v_total bigint;
    v_lines integer;
BEGIN
    INSERT INTO idempotency_keys (user_id, key, fingerprint, order_number)
    VALUES (p_user_id, p_key, p_fingerprint, p_order_number)
    ON CONFLICT (user_id, key) DO NOTHING;

    IF FOUND THEN
        UPDATE carts c SET order_number = p_order_number
        WHERE c.user_id = p_user_id AND c.order_number IS NULL
        RETURNING c.version INTO v_version;
        IF v_version IS NULL THEN
            RAISE EXCEPTION 'there is no cart to order' USING ERRCODE = 'SK001';
        END IF;

        SELECT sum(l.price_rupiah * l.quantity), count(*) INTO v_total, v_lines
        FROM (
            SELECT p.price_rupiah, i.quantity
            FROM cart_items i JOIN products p ON p.id = i.product_id
            WHERE i.user_id = p_user_id
            ORDER BY p.id FOR NO KEY UPDATE OF p
        ) l;
        IF v_lines = 0 THEN
            RAISE EXCEPTION 'the cart is empty' USING ERRCODE = 'SK001';
        ELSIF v_lines > p_maximum_lines THEN
            RAISE EXCEPTION 'the cart has too many lines' USING ERRCODE = 'SK003';
        ELSIF v_total > p_expected_total_rupiah THEN
            RAISE EXCEPTION 'the total is above the expected one' USING ERRCODE = 'SK002';
        END IF;

        INSERT INTO orders (
            order_number, user_id, cart_version, total_rupiah, email, locale,
            recipient_name, shipping_address, note, request_id
        ) VALUES (
            p_order_number, p_user_id, v_version, v_total, p_email, p_locale,
            p_recipient_name, p_shipping_address, p_note, p_request_id
        ) RETURNING id INTO v_order_id;

        INSERT INTO order_items (order_id, product_id, sku, name, unit_price_rupiah, quantity)
        SELECT v_order_id, p.id, p.sku, p.name, p.price_rupiah, i.quantity
        FROM cart_items i JOIN products p ON p.id = i.product_id
        WHERE i.user_id = p_user_id;

        UPDATE products p SET stock = p.stock - i.quantity
        FROM order_items i
        WHERE i.order_id = v_order_id AND p.id = i.product_id;

        DELETE FROM cart_items i WHERE i.user_id = p_user_id;

        INSERT INTO jobs (id, job_type, queue, payload, order_number, request_id, trace_id, publish_at)
        VALUES (
            p_job_id, p_job_type, p_job_queue, jsonb_build_object('order_number', p_order_number),
            p_order_number, p_request_id, p_trace_id, now() + interval '30 seconds'
        ) RETURNING jobs.publish_at INTO v_publish_at;

        INSERT INTO jobs (
            id, job_type, queue, payload, order_number, request_id, trace_id, run_at, publish_at, budget_from,
            unique_key
        ) VALUES (
            p_timer_id, 'expire_order', 'payments', jsonb_build_object('order_number', p_order_number),
            p_order_number, p_request_id, p_trace_id, now() + p_expires_in, now() + p_expires_in, now() + p_expires_in,
            'expire_order:' || p_order_number
        );
    ELSE
        SELECT k.fingerprint, k.order_number INTO v_fingerprint, v_number
        FROM idempotency_keys k WHERE k.user_id = p_user_id AND k.key = p_key;
        v_outcome := CASE WHEN v_fingerprint = p_fingerprint THEN 'replayed' ELSE 'key_reused' END;
    END IF;

    RETURN QUERY
    SELECT v_outcome, o.order_number, o.total_rupiah, o.created_at, jsonb_agg(jsonb_build_object(
        'sku', i.sku, 'name', i.name, 'quantity', i.quantity, 'unit_price_rupiah', i.unit_price_rupiah
    ) ORDER BY i.product_id), v_publish_at
    FROM orders o JOIN order_items i ON i.order_id = o.id
    WHERE o.order_number = v_number
    GROUP BY o.id;
END
$$;

-- Gives the units of an order back. Products are locked in the order of their ids, as everywhere.
-- Only for whoever has just closed the order in the same transaction: that is what makes it happen once.
CREATE FUNCTION give_stock_back(p_order_id bigint) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM 1 FROM products p JOIN order_items i ON i.product_id = p.id
    WHERE i.order_id = p_order_id ORDER BY p.id FOR NO KEY UPDATE OF p;

    UPDATE products p SET stock = p.stock + i.quantity
    FROM order_items i
    WHERE i.order_id = p_order_id AND p.id = i.product_id;
END
$$;

-- As before, and the order's timer is called off.
CREATE OR REPLACE FUNCTION cancel_order(p_user_id text, p_order_number text)
RETURNS TABLE (status text, cancelled boolean)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_order_id bigint;
BEGIN
    UPDATE orders o SET status = 'cancelled', cancelled_at = now()
    WHERE o.user_id = p_user_id AND o.order_number = p_order_number AND o.status = 'pending'
    RETURNING o.id INTO v_order_id;

    IF v_order_id IS NOT NULL THEN
        PERFORM give_stock_back(v_order_id);
        PERFORM cancel_timer('expire_order:' || p_order_number);
    END IF;

    RETURN QUERY
    SELECT o.status, v_order_id IS NOT NULL
    FROM orders o WHERE o.user_id = p_user_id AND o.order_number = p_order_number;
END
$$;

-- Expires an order that nobody paid in time and gives its stock back, once. Answers 'expired', 'waits' or, where the
-- order is not pending any more, its status; NULL where there is none.
-- It waits while the gateway's word that it is paid lies here unapplied, and where payments were started that the
-- caller did not ask about: p_attempts is how many it knows.
CREATE FUNCTION expire_order(p_order_number text, p_attempts bigint) RETURNS text
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
        WHERE e.order_number = p_order_number AND e.state = 'received' AND e.status = 'paid'
    ) OR (SELECT count(*) FROM payment_attempts a WHERE a.order_id = v_order_id) <> p_attempts THEN
        RETURN 'waits';
    END IF;

    UPDATE orders o SET status = 'expired', expired_at = now() WHERE o.id = v_order_id;
    PERFORM give_stock_back(v_order_id);
    RETURN 'expired';
END
$$;

-- An event is what a gateway sent us, or what it answered when we asked.
ALTER TABLE payment_events ADD COLUMN source text NOT NULL DEFAULT 'webhook' CHECK (source IN ('webhook', 'answer'));

-- When the gateway was last asked what became of an attempt.
ALTER TABLE payment_attempts ADD COLUMN asked_at timestamptz;
CREATE INDEX payment_attempts_created_at_idx ON payment_attempts (created_at);

-- Money that we give back: asked for by a person, sent by a job, booked by the gateway's event.
CREATE TABLE refunds (
    -- Ours; the gateway takes each key once, and its event carries it.
    key text PRIMARY KEY CHECK (key ~ '^[A-Za-z0-9][A-Za-z0-9-]{0,63}$'),
    order_id bigint NOT NULL REFERENCES orders,
    gateway text NOT NULL,
    transaction_id text NOT NULL,
    amount_rupiah bigint NOT NULL CHECK (amount_rupiah > 0),
    reason text NOT NULL CHECK (length(reason) BETWEEN 1 AND 200),
    requested_by text NOT NULL CHECK (length(requested_by) BETWEEN 1 AND 100),
    state text NOT NULL DEFAULT 'requested' CHECK (state IN ('requested', 'sent', 'booked', 'refused')),
    -- Why the gateway would not do it.
    refusal text CHECK (length(refusal) BETWEEN 1 AND 1000),
    created_at timestamptz NOT NULL DEFAULT now(),
    sent_at timestamptz,
    booked_at timestamptz,
    FOREIGN KEY (gateway, transaction_id) REFERENCES payments (gateway, transaction_id),
    CONSTRAINT refunds_booked_at_a_time CHECK ((state = 'booked') = (booked_at IS NOT NULL)),
    CONSTRAINT refunds_refused_for_a_reason CHECK (state <> 'refused' OR refusal IS NOT NULL)
);
CREATE INDEX refunds_order_id_idx ON refunds (order_id);
CREATE INDEX refunds_open_idx ON refunds (created_at) WHERE state IN ('requested', 'sent');

-- What a reconciliation found and could not mend; gone_at once a later one does not find it any more.
CREATE TABLE reconciliation_findings (
    kind text NOT NULL CHECK (length(kind) BETWEEN 1 AND 60),
    subject text NOT NULL CHECK (length(subject) BETWEEN 1 AND 300),
    order_number text,
    first_seen_at timestamptz NOT NULL DEFAULT now(),
    last_seen_at timestamptz NOT NULL DEFAULT now(),
    gone_at timestamptz,
    PRIMARY KEY (kind, subject)
);
CREATE INDEX reconciliation_findings_open_idx ON reconciliation_findings (first_seen_at) WHERE gone_at IS NULL;

-- What a reconciliation looks through.
CREATE INDEX orders_pending_idx ON orders (created_at) WHERE status = 'pending';
CREATE INDEX orders_paid_at_idx ON orders (paid_at) WHERE paid_at IS NOT NULL;
CREATE INDEX payments_updated_at_idx ON payments (updated_at);
