-- Version 1.
--
-- Gives a locked order that is being paid the year's next number: the year is that of the transaction's beginning in the
-- shop, and the invoice is issued once the year's row is ours, within that year, so that a higher number never has an
-- earlier day. The settings are those of record_notification.
CREATE OR REPLACE FUNCTION take_invoice_number(p_order_id bigint) RETURNS text
LANGUAGE plpgsql
SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    v_number text;
BEGIN
    WITH counter AS (
        INSERT INTO invoice_counters AS c (year, last_serial)
        VALUES (extract(year FROM now() AT TIME ZONE 'Asia/Jakarta')::integer, 1)
        ON CONFLICT (year) DO UPDATE SET last_serial = c.last_serial + 1
        RETURNING year, last_serial
    )
    INSERT INTO invoices (order_id, year, serial, created_at)
    SELECT p_order_id, year, last_serial, greatest(now(), least(
        clock_timestamp(),
        make_timestamptz(year + 1, 1, 1, 0, 0, 0, 'Asia/Jakarta') - interval '1 microsecond'
    )) FROM counter
    RETURNING number INTO v_number;
    RETURN v_number;
END
$$;
