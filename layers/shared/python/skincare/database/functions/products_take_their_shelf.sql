-- Version 1.
--
-- Who says of a new product only what may be sold has all of it on the shelf: a release that knows no shelf, too.
CREATE OR REPLACE FUNCTION products_take_their_shelf() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
    NEW.on_hand := coalesce(NEW.on_hand, NEW.stock);
    RETURN NEW;
END
$$;

CREATE OR REPLACE TRIGGER products_shelf BEFORE INSERT ON products
FOR EACH ROW EXECUTE FUNCTION products_take_their_shelf();
