-- Version 1.
--
-- When an order was paid, by what a gateway says, as far as that can be true: gateways err, and nobody pays before the
-- order or in a year to come. Without a word of the gateway's it is now.
CREATE OR REPLACE FUNCTION believable_paid_at(p_said timestamptz, p_created_at timestamptz) RETURNS timestamptz
LANGUAGE sql STABLE PARALLEL SAFE
AS $$
    SELECT greatest(p_created_at, least(now(), coalesce(p_said, now())))
$$;
