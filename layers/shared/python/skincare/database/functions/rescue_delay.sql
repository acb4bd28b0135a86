-- Version 1.
--
-- How long after a send a job that was not heard of is sent again: 1 h, doubling per re-send up to 24 h.
-- Longer than six function timeouts of any queue, so that the message itself has had its chance.
CREATE OR REPLACE FUNCTION rescue_delay(sends integer) RETURNS interval
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN least(interval '1 hour' * power(2, least(sends, 5)), interval '24 hours');
