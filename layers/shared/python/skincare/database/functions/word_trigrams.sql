-- Version 1.
--
-- What a word shares with words that look like it: each three characters in a row, two blanks before it and one after.
CREATE OR REPLACE FUNCTION word_trigrams(p_word text) RETURNS text[]
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT ARRAY(SELECT DISTINCT substr('  ' || p_word || ' ', generate_series(1, length(p_word) + 1), 3))
$$;
