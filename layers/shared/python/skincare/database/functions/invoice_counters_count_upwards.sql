-- Version 1.
--
-- The next number is the last one and one.
CREATE OR REPLACE TRIGGER invoice_counters_count_upwards
BEFORE UPDATE ON invoice_counters
FOR EACH ROW WHEN (current_user = 'app' AND (
    NEW.year <> OLD.year OR NEW.last_serial <> OLD.last_serial + 1
)) EXECUTE FUNCTION refuse_rewriting();
