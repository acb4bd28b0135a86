-- Version 1.
--
-- Seconds since a moment, kept to what a program can hold: there are rows that say infinity.
CREATE OR REPLACE FUNCTION age_s(since timestamptz) RETURNS double precision
LANGUAGE sql STABLE PARALLEL SAFE
RETURN extract(epoch FROM greatest('-100 years', least('100 years', now() - since)))::double precision;
