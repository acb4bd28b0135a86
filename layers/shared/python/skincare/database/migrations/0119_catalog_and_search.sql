-- With product_details_are_found.sql, search_follows_products.sql, word_trigrams.sql, write_product_search.sql: they name
-- columns and tables of this file.
--
-- What a product is beyond what a checkout reads and writes stands in a row of its own, and what it is found by in
-- another: an order meets neither. Placing orders waits for this transaction, which writes the words of each product.
ALTER TABLE products
    ADD COLUMN name_en text CHECK (length(name_en) BETWEEN 1 AND 200),
    -- Nothing to ship without one.
    ADD COLUMN weight_g integer CHECK (weight_g BETWEEN 1 AND 1000000),
    ADD COLUMN status text NOT NULL DEFAULT 'active' CHECK (status IN ('draft', 'active', 'archived')),
    -- Counts the changes of the catalog, never those of stock.
    ADD COLUMN version bigint NOT NULL DEFAULT 1;

CREATE TABLE product_details (
    product_id bigint PRIMARY KEY REFERENCES products ON DELETE CASCADE,
    description_id text CHECK (length(description_id) BETWEEN 1 AND 10000),
    description_en text CHECK (length(description_en) BETWEEN 1 AND 10000),
    brand text CHECK (length(brand) BETWEEN 1 AND 100),
    -- From the widest to the narrowest, such as skin/serum.
    category text CHECK (length(category) <= 200 AND category ~ '^[a-z0-9]+(-[a-z0-9]+)*(/[a-z0-9]+(-[a-z0-9]+)*)*$'),
    barcode text UNIQUE CHECK (barcode ~ '^([0-9]{8}|[0-9]{12,14})$'),
    bpom text CHECK (bpom ~ '^N[A-Z][0-9]{11}$'),
    ingredients text CHECK (length(ingredients) BETWEEN 1 AND 10000),
    images jsonb NOT NULL DEFAULT '[]' CHECK (jsonb_typeof(images) = 'array' AND jsonb_array_length(images) <= 8)
);

-- An active product as it is found; triggers keep it. Stock is not here: each order would write it.
CREATE TABLE product_search (
    product_id bigint PRIMARY KEY REFERENCES products ON DELETE CASCADE,
    sku text NOT NULL UNIQUE,
    barcode text UNIQUE,
    name text NOT NULL,
    brand text,
    category text,
    price_rupiah bigint NOT NULL,
    words tsvector NOT NULL
);
-- Without a list of pending entries, which each search would have to read whole.
CREATE INDEX product_search_words_idx ON product_search USING gin (words) WITH (fastupdate = off);
CREATE INDEX product_search_price_idx ON product_search (price_rupiah, product_id);
CREATE INDEX product_search_name_idx ON product_search (name, product_id);

-- Words of names, brands and categories, by which a misspelt one is recognised. A word stays when its products go.
CREATE TABLE search_words (
    word text PRIMARY KEY CHECK (length(word) BETWEEN 3 AND 40),
    trigrams text[] NOT NULL
);
CREATE INDEX search_words_trigrams_idx ON search_words USING gin (trigrams) WITH (fastupdate = off);

-- One or two words and what else they are called; each pair is read both ways.
CREATE TABLE search_synonyms (
    term text NOT NULL CHECK (term = lower(term) AND term ~ '^\S+( \S+)?$'),
    same_as text NOT NULL CHECK (same_as = lower(same_as) AND same_as ~ '^\S+( \S+)?$'),
    PRIMARY KEY (term, same_as)
);
INSERT INTO search_synonyms (term, same_as) VALUES
    ('pelembab', 'moisturizer'),
    ('pelembab', 'moisturiser'),
    ('pelembap', 'pelembab'),
    ('pelembap', 'moisturizer'),
    ('tabir surya', 'sunscreen'),
    ('tabir surya', 'sunblock'),
    ('sunscreen', 'sunblock'),
    ('pembersih', 'cleanser'),
    ('sabun', 'soap'),
    ('sampo', 'shampoo'),
    ('lipstik', 'lipstick'),
    ('masker', 'mask'),
    ('jerawat', 'acne'),
    ('mencerahkan', 'brightening'),
    ('kulit kering', 'dry skin'),
    ('kulit berminyak', 'oily skin'),
    ('krim malam', 'night cream'),
    ('krim', 'cream');
