"""Finding products by words and by what they are."""

from skincare.catalog.search import repository
from skincare.catalog.search.cursor import Place, Reading, decode_place, encode_place
from skincare.catalog.search.models import Facets, Found, Highlights, Hit, Search, Segment, Suggestion
from skincare.catalog.search.repository import Match, Row
from skincare.catalog.search.words import code_of, words_of
from skincare.database.connection import Database
from skincare.errors import InvalidInput
from skincare.identifiers import Sku


def find(search: Search, *, limit: int, cursor: str | None, database: Database) -> Found:
    """Return a page of what was found; raises `InvalidInput` for a foreign cursor and for a range that is none.

    Where nothing has all of the words, each is replaced by the one of the catalog that looks most like it, and if that
    finds nothing either, one of them is enough.
    """
    if (search.min_price_rupiah or 0) > (search.max_price_rupiah or search.min_price_rupiah or 0):
        raise InvalidInput("/query/max_price_rupiah", "must not be below min_price_rupiah")
    place = None if cursor is None else decode_place(cursor, search)
    for reading in Reading if place is None else [place.reading]:
        match = _match(search, reading, database)
        rows = [] if match is None else _rows(match, place, limit + 1, database)
        if match is not None and (rows or search.q is None):
            facets = _facets(match, database) if place is None else None
            return _found(search, rows, reading, facets=facets, limit=limit)
    return Found((), None, Facets() if place is None else None)


def suggest(q: str, *, limit: int, database: Database) -> tuple[Suggestion, ...]:
    """Return products that a half-typed text may mean; if there are none, those that look like it."""
    for reading in Reading:
        query = _query(q, reading, database)
        with database.connection() as conn:
            if found := repository.suggest(conn, query, limit=limit):
                return tuple(found)
    return ()


def _match(search: Search, reading: Reading, database: Database) -> Match | None:
    """Return whom a search means when its words are taken in this way; None means nobody."""
    if search.q is None:
        return Match(search)
    if reading is Reading.ALL and (code := code_of(search.q)) is not None:
        with database.connection() as conn:
            product_id = repository.find_code(conn, code)
        if product_id is not None:
            return Match(search, product_id=product_id)
    query = _query(search.q, reading, database)
    return Match(search, query=query) if query else None


def _query(q: str, reading: Reading, database: Database) -> str:
    words = words_of(q)
    with database.connection() as conn:
        if reading is not Reading.ALL:
            words = repository.nearest_words(conn, words)
        return repository.query_of(conn, words, any_of_them=reading is Reading.ANY)


def _rows(match: Match, place: Place | None, limit: int, database: Database) -> list[Row]:
    # The one product of a code has no words to be relevant by.
    order = None if match.product_id is not None else match.search.order
    key, after = (None, None) if place is None else (place.key, place.product_id)
    with database.connection() as conn:
        return repository.page(conn, match, order, key=key, after=after, limit=limit)


def _facets(match: Match, database: Database) -> Facets:
    with database.connection() as conn:
        return repository.count_facets(conn, match)


def _found(search: Search, rows: list[Row], reading: Reading, *, facets: Facets | None, limit: int) -> Found:
    shown = rows[:limit]
    more = len(rows) > limit
    cursor = encode_place(Place(reading, shown[-1].key, shown[-1].product_id), search) if more else None
    return Found(tuple(_hit(row) for row in shown), cursor, facets, nearest=reading is not Reading.ALL)


def _hit(row: Row) -> Hit:
    highlights = None
    if row.marked_name is not None:
        highlights = Highlights(_segments(row.marked_name), _segments(row.marked_description or ""))
    return Hit(Sku(row.sku), row.name, row.price_rupiah, row.stock, highlights)


def _segments(marked: str) -> tuple[Segment, ...]:
    return tuple(Segment(text, is_match) for text, is_match in repository.pieces(marked))
