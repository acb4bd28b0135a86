-- Version 1.
--
-- What was ordered, paid and asked back stays what it was. By triggers and not by grants of columns: a column that a
-- later migration adds is written to by default. The owner may repair.
CREATE OR REPLACE FUNCTION refuse_rewriting() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'what identifies a row of %, and its amount, stays as it was written', TG_TABLE_NAME
        USING ERRCODE = 'insufficient_privilege', CONSTRAINT = TG_NAME;
END
$$;
