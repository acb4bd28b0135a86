-- Version 1.
--
-- Gives an order whose money went back the year's next credit note over what is not credited yet, and answers its number;
-- NULL where that much, or more, is credited, or where there is no invoice. As with invoices a higher number never has an
-- earlier day. The settings are those of record_notification.
CREATE OR REPLACE FUNCTION issue_credit_note(p_order_id bigint, p_credited_rupiah bigint) RETURNS text
LANGUAGE plpgsql
SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    v_number text;
BEGIN
    WITH due AS (
        SELECT v.order_id, (
            SELECT coalesce(max(n.credited_rupiah), 0) FROM credit_notes n WHERE n.order_id = p_order_id
        ) AS before
        FROM invoices v WHERE v.order_id = p_order_id
    ), counter AS (
        INSERT INTO credit_note_counters AS c (year, last_serial)
        SELECT extract(year FROM now() AT TIME ZONE 'Asia/Jakarta')::integer, 1
        FROM due d WHERE d.before < p_credited_rupiah
        ON CONFLICT (year) DO UPDATE SET last_serial = c.last_serial + 1
        RETURNING year, last_serial
    )
    INSERT INTO credit_notes AS w (order_id, year, serial, amount_rupiah, credited_rupiah, created_at)
    SELECT d.order_id, c.year, c.last_serial, p_credited_rupiah - d.before, p_credited_rupiah,
        greatest(now(), least(
            clock_timestamp(),
            make_timestamptz(c.year + 1, 1, 1, 0, 0, 0, 'Asia/Jakarta') - interval '1 microsecond'
        ))
    FROM due d CROSS JOIN counter c
    RETURNING w.number INTO v_number;
    RETURN v_number;
END
$$;
