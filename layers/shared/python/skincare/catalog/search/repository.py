"""The search in PostgreSQL: words, names and prices in a table beside the catalog, stock in the catalog itself."""

from dataclasses import dataclass
from typing import Any, LiteralString

from psycopg import Connection
from psycopg.rows import class_row

from skincare.catalog.search.models import Count, Facets, PriceRange, Search, Sort, Suggestion

_LEAST_LIKE = 0.4
"""How much of two words' trigrams must be the same for one to be taken for the other."""
_MOST_VALUES = 50
_PRICE_ENDS = (50_000, 100_000, 250_000, 500_000)
"""Where one range of prices ends and the next one begins."""
_START, _STOP = "\ue000", "\ue001"
"""Around a match, from the area that belongs to nobody; what a text has of them is left out before."""

_MATCHES: LiteralString = """
    (%(query)s::text IS NULL OR s.words @@ %(query)s::tsquery)
    AND (%(product_id)s::bigint IS NULL OR s.product_id = %(product_id)s)
    AND (%(category)s::text IS NULL OR s.category = %(category)s OR starts_with(s.category, %(category)s || '/'))
    AND (%(brand)s::text IS NULL OR s.brand = %(brand)s)
    AND (%(min_price_rupiah)s::bigint IS NULL OR s.price_rupiah >= %(min_price_rupiah)s)
    AND (%(max_price_rupiah)s::bigint IS NULL OR s.price_rupiah <= %(max_price_rupiah)s)
    AND (%(in_stock)s::boolean IS NULL
        OR %(in_stock)s = EXISTS (SELECT FROM products i WHERE i.id = s.product_id AND i.stock > 0))"""

# The sort key as text, the condition of coming after it, and the order: by key and then by id, so no two are equal.
_RANK: LiteralString = "ts_rank(s.words, %(query)s::tsquery)"
_ORDERS: dict[Sort | None, tuple[LiteralString, LiteralString, LiteralString]] = {
    None: ("s.sku", "s.sku > %(key)s", "s.sku"),
    Sort.RELEVANCE: (
        f"{_RANK}::text",
        f"({_RANK} < %(key)s::real OR {_RANK} = %(key)s::real AND s.product_id > %(after)s)",
        f"{_RANK} DESC, s.product_id",
    ),
    Sort.PRICE: (
        "s.price_rupiah::text",
        "(s.price_rupiah, s.product_id) > (%(key)s::bigint, %(after)s)",
        "s.price_rupiah, s.product_id",
    ),
    Sort.PRICE_DOWN: (
        "s.price_rupiah::text",
        "(s.price_rupiah, s.product_id) < (%(key)s::bigint, %(after)s)",
        "s.price_rupiah DESC, s.product_id DESC",
    ),
    Sort.NEWEST: ("''", "s.product_id < %(after)s", "s.product_id DESC"),
    Sort.NAME: ("s.name", "(s.name, s.product_id) > (%(key)s, %(after)s)", "s.name, s.product_id"),
}


@dataclass(frozen=True)
class Match:
    """Which products are meant: those of a search that have the words of a query, or the one of a code."""

    search: Search
    query: str | None = None
    """A tsquery, as text."""
    product_id: int | None = None

    @property
    def parameters(self) -> dict[str, Any]:
        search = self.search
        return {
            "query": self.query,
            "product_id": self.product_id,
            "category": search.category,
            "brand": search.brand,
            "min_price_rupiah": search.min_price_rupiah,
            "max_price_rupiah": search.max_price_rupiah,
            "in_stock": search.in_stock,
        }


@dataclass(frozen=True)
class Row:
    """A hit as it is now, with its place among the others; `marked_…` have marks around what was found."""

    product_id: int
    key: str
    sku: str
    name: str
    price_rupiah: int
    stock: int
    marked_name: str | None
    marked_description: str | None


def query_of(conn: Connection, words: list[str], *, any_of_them: bool = False) -> str:
    """Return the tsquery for these words as text; it is empty where they are nothing to search for."""
    cur = conn.execute("SELECT search_query(%(words)s::text[], %(any)s)::text", {"words": words, "any": any_of_them})
    ((query,),) = cur.fetchall()
    return str(query)


def find_code(conn: Connection, code: str) -> int | None:
    """Return the id of the product with this SKU or barcode."""
    cur = conn.execute(
        "SELECT product_id FROM product_search WHERE sku = %(code)s OR barcode = %(code)s ORDER BY product_id LIMIT 1",
        {"code": code},
    )
    row = cur.fetchone()
    return None if row is None else int(row[0])


def nearest_words(conn: Connection, words: list[str]) -> list[str]:
    """Return for each word the one of the catalog that looks most like it, or the word itself where none does.

    Alike are words by Dice's coefficient of their trigrams, or by how many of those of a beginning the other has; of
    equals the first in the alphabet is taken. A word with a digit, or of one or two letters, stays what it is.
    """
    cur = conn.execute(
        """
        SELECT coalesce((
            SELECT w.word FROM search_words w
            CROSS JOIN LATERAL (
                SELECT greatest(
                    2.0 * count(*) / (cardinality(w.trigrams) + cardinality(t.trigrams)),
                    0.8 * count(*) / (cardinality(t.trigrams) - 1)
                ) AS alike
                FROM unnest(w.trigrams) g (trigram) WHERE g.trigram = ANY (t.trigrams)
            ) c
            WHERE w.trigrams && t.trigrams AND c.alike >= %(least)s
            ORDER BY c.alike DESC, w.word LIMIT 1
        ), t.word)
        FROM unnest(%(words)s::text[]) WITH ORDINALITY asked (word, n)
        CROSS JOIN LATERAL (
            SELECT asked.word, CASE WHEN asked.word ~ '^[^0-9]{3,40}$' THEN word_trigrams(asked.word) ELSE '{}' END
        ) t (word, trigrams)
        ORDER BY asked.n""",
        {"words": words, "least": _LEAST_LIKE},
    )
    return [word for (word,) in cur.fetchall()]


def page(
    conn: Connection, match: Match, order: Sort | None, *, key: str | None, after: int | None, limit: int
) -> list[Row]:
    """Return up to `limit` hits in this order, after the one with this key and id, or from the first."""
    as_text, comes_after, ordered = _ORDERS[order]
    began: LiteralString = "" if key is None else f"AND {comes_after}"
    cur = conn.cursor(row_factory=class_row(Row)).execute(
        f"""
        WITH hit AS MATERIALIZED (
            SELECT s.product_id, {as_text} AS key, row_number() OVER (ORDER BY {ordered}) AS n
            FROM product_search s WHERE {_MATCHES} {began}
            ORDER BY {ordered} LIMIT %(limit)s
        )
        SELECT h.product_id, h.key, p.sku, p.name, p.price_rupiah, p.stock,
            ts_headline('indonesian', translate(p.name, %(marks)s, ''), %(query)s::tsquery, %(whole)s) AS marked_name,
            ts_headline(
                'indonesian', translate(d.description_id, %(marks)s, ''), %(query)s::tsquery, %(part)s
            ) AS marked_description
        FROM hit h JOIN products p ON p.id = h.product_id LEFT JOIN product_details d ON d.product_id = h.product_id
        ORDER BY h.n""",  # noqa: S608  our own constants
        {
            **match.parameters,
            "key": key,
            "after": after,
            "limit": limit,
            "marks": _START + _STOP,
            "whole": f"StartSel={_START}, StopSel={_STOP}, HighlightAll=true",
            "part": f"StartSel={_START}, StopSel={_STOP}, MinWords=8, MaxWords=20",
        },
    )
    return cur.fetchall()


def count_facets(conn: Connection, match: Match) -> Facets:
    """Count what all hits are made of."""
    cur = conn.execute(
        f"""
        WITH hit AS MATERIALIZED (
            SELECT s.category, s.brand, width_bucket(s.price_rupiah, %(ends)s::bigint[]) AS price
            FROM product_search s WHERE {_MATCHES}
        )
        (SELECT 'category', h.category, count(*) FROM hit h WHERE h.category IS NOT NULL
            GROUP BY h.category ORDER BY count(*) DESC, h.category LIMIT %(values)s)
        UNION ALL
        (SELECT 'brand', h.brand, count(*) FROM hit h WHERE h.brand IS NOT NULL
            GROUP BY h.brand ORDER BY count(*) DESC, h.brand LIMIT %(values)s)
        UNION ALL
        (SELECT 'price', h.price::text, count(*) FROM hit h GROUP BY h.price ORDER BY h.price)""",  # noqa: S608  our own constant
        {**match.parameters, "ends": list(_PRICE_ENDS), "values": _MOST_VALUES},
    )
    rows = cur.fetchall()
    return Facets(
        category=tuple(Count(value, count) for kind, value, count in rows if kind == "category"),
        brand=tuple(Count(value, count) for kind, value, count in rows if kind == "brand"),
        price=tuple(_range(int(value), count) for kind, value, count in rows if kind == "price"),
    )


def suggest(conn: Connection, query: str, *, limit: int) -> list[Suggestion]:
    """Return products that have the words of a query, by name; of very many, some."""
    cur = conn.cursor(row_factory=class_row(Suggestion)).execute(
        """
        SELECT h.sku, h.name FROM (
            SELECT s.sku, s.name, s.product_id FROM product_search s WHERE s.words @@ %(query)s::tsquery LIMIT 200
        ) h
        ORDER BY h.name, h.product_id LIMIT %(limit)s""",
        {"query": query, "limit": limit},
    )
    return cur.fetchall()


def pieces(marked: str) -> list[tuple[str, bool]]:
    """Return a marked text as its pieces, in order, and whether each is a match."""
    found = []
    for part in marked.split(_START):
        match, stop, rest = part.partition(_STOP)
        found += [(match, True), (rest, False)] if stop else [(part, False)]
    return [(text, is_match) for text, is_match in found if text]


def _range(bucket: int, count: int) -> PriceRange:
    ends = (None, *_PRICE_ENDS, None)
    upper = ends[bucket + 1]
    return PriceRange(ends[bucket], None if upper is None else upper - 1, count)
