-- Version 1.
--
-- Only a backstop, as for jobs. A closed order never opens again, whatever money arrives. An order may come
-- back from a refund: a second payment turns out to be the earlier one, and the refunded one the double.
CREATE OR REPLACE FUNCTION orders_refuse_illegal_move() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.status IN ('cancelled', 'expired') OR NEW.status = 'pending'
        OR (NEW.status IN ('cancelled', 'expired') AND OLD.status <> 'pending')
    THEN
        RAISE EXCEPTION 'order % cannot move from % to %', OLD.order_number, OLD.status, NEW.status
            USING ERRCODE = 'check_violation', CONSTRAINT = 'orders_legal_moves';
    END IF;
    RETURN NEW;
END
$$;

CREATE OR REPLACE TRIGGER orders_legal_moves BEFORE UPDATE OF status ON orders
FOR EACH ROW WHEN (OLD.status IS DISTINCT FROM NEW.status) EXECUTE FUNCTION orders_refuse_illegal_move();
