-- Version 1.
--
-- What stands for an address that gets no mail: enough to know it again, and no address.
CREATE OR REPLACE FUNCTION address_hash(p_email text) RETURNS text
LANGUAGE sql STABLE STRICT PARALLEL SAFE AS $$
    SELECT 'sha256:' || encode(sha256(convert_to(lower(p_email), 'UTF8')), 'hex')
$$;
