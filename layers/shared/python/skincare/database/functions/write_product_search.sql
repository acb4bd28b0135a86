-- Version 2.
--
-- Writes by which words a product is found, or takes it out of the search where it is not active. Its row of products
-- is locked first: of two changes at once the second one sees what the first one wrote.
-- Weights: A names and SKU, B brand and category, C descriptions, D ingredients.
CREATE OR REPLACE FUNCTION write_product_search(p_product_id bigint) RETURNS void
LANGUAGE plpgsql
SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    v_words text;
BEGIN
    PERFORM FROM products WHERE id = p_product_id FOR NO KEY UPDATE;

    INSERT INTO product_search AS s (product_id, sku, barcode, name, brand, category, price_rupiah, words)
    SELECT p.id, p.sku, d.barcode, p.name, d.brand, d.category, p.price_rupiah,
        setweight(
            to_tsvector('simple', concat_ws(' ', p.name, p.name_en, replace(p.sku, '-', ' ')))
            || to_tsvector('indonesian', p.name), 'A'
        ) || setweight(
            to_tsvector('simple', concat_ws(' ', d.brand, translate(d.category, '/-', '  '))), 'B'
        ) || setweight(
            to_tsvector('simple', concat_ws(' ', d.description_id, d.description_en))
            || to_tsvector('indonesian', coalesce(d.description_id, '')), 'C'
        ) || setweight(to_tsvector('simple', coalesce(d.ingredients, '')), 'D')
    FROM products p LEFT JOIN product_details d ON d.product_id = p.id
    WHERE p.id = p_product_id AND p.status = 'active'
    ON CONFLICT (product_id) DO UPDATE
    SET sku = EXCLUDED.sku, barcode = EXCLUDED.barcode, name = EXCLUDED.name, brand = EXCLUDED.brand,
        category = EXCLUDED.category, price_rupiah = EXCLUDED.price_rupiah, words = EXCLUDED.words;
    IF NOT FOUND THEN
        DELETE FROM product_search WHERE product_id = p_product_id;
        RETURN;
    END IF;

    SELECT concat_ws(' ', p.name, p.name_en, d.brand, translate(d.category, '/-', '  ')) INTO v_words
    FROM products p LEFT JOIN product_details d ON d.product_id = p.id WHERE p.id = p_product_id;
    -- Numbers look like one another, and nobody means another one. In one order, so that two products with the same new
    -- words do not wait for one another in a circle.
    INSERT INTO search_words (word, trigrams)
    SELECT w.word, word_trigrams(w.word)
    FROM unnest(tsvector_to_array(to_tsvector('simple', v_words))) w (word)
    WHERE length(w.word) BETWEEN 3 AND 40 AND w.word !~ '[0-9]'
        AND NOT EXISTS (SELECT FROM search_words k WHERE k.word = w.word)
    ORDER BY w.word
    ON CONFLICT (word) DO NOTHING;
END
$$;

-- Another version of these words is written for what is there.
DO $$ BEGIN PERFORM write_product_search(id) FROM products ORDER BY id; END $$;
