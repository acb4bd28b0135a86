-- Version 1.
--
-- What is looked for where somebody typed these words, in lower case: each as it is, by its Indonesian stem, or by a
-- synonym of it or of it and the next one. The last word may be unfinished. p_any: one of them is enough.
CREATE OR REPLACE FUNCTION search_query(p_words text[], p_any boolean DEFAULT false) RETURNS tsquery
LANGUAGE plpgsql STABLE
SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    v_query tsquery := '';
    v_part tsquery;
    v_term text;
    v_same text;
    v_at integer := 1;
BEGIN
    WHILE v_at <= cardinality(p_words) LOOP
        v_term := p_words[v_at] || ' ' || p_words[v_at + 1];
        IF v_term IS NOT NULL AND EXISTS (
            SELECT FROM search_synonyms s WHERE v_term IN (s.term, s.same_as)
        ) THEN
            v_part := plainto_tsquery('simple', v_term);
            v_at := v_at + 2;
        ELSE
            v_term := p_words[v_at];
            v_part := plainto_tsquery('simple', v_term) || plainto_tsquery('indonesian', v_term);
            IF v_at = cardinality(p_words) THEN
                v_part := v_part || to_tsquery('simple', '''' || replace(v_term, '''', '''''') || ''':*');
            END IF;
            v_at := v_at + 1;
        END IF;
        FOR v_same IN
            SELECT s.same_as FROM search_synonyms s WHERE s.term = v_term
            UNION SELECT s.term FROM search_synonyms s WHERE s.same_as = v_term
        LOOP
            v_part := v_part || phraseto_tsquery('simple', v_same);
        END LOOP;
        v_query := CASE WHEN p_any THEN v_query || v_part ELSE v_query && v_part END;
    END LOOP;
    RETURN v_query;
END
$$;
