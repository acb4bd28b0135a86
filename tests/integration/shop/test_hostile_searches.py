"""Whatever is typed into a search box gets an answer, soon, and reads nothing but the catalog."""

import random
import time
from urllib.parse import quote_from_bytes

import psycopg
from psycopg import Connection

from skincare.app import App
from tests.support.catalog import fill_with_many
from tests.support.factories import make_order
from tests.support.http import Client
from tests.support.randomness import Times

PIECES = (
    *"&|!()<>:*'\"\\%_-+~@#$^={}[];,.?/`",
    *("serum", "SERUM", "niacinamide", "niasinamid", "tabir surya", "kulit kering", "a", "é", "ß", "İ", "ﬁ", "x" * 180),
    *("' OR 1=1 --", "serum:*", "!serum", "<->", "'serum' & !'toner'", "\\u0000", "%s", "%(q)s", "{q}", "$1", "NULL"),
    *(
        "صابون",
        "שמפו",
        "面膜",
        "สบู่",
        "🌸",
        "👩🏽‍🦱",
        "\u200d",
        "\u0301",
        "\ufb01",
        "𝓼𝓮𝓻𝓾𝓶",
        "٣",
        "½",
        "²",
        "1e308",
        "0x1f",
    ),
    *("²", "1e308", "0x1f", "-1", "MANY-1", "many-17", "8991234567890", " ", "\u3000", "\xa0"),
    *("\0", "\n", "\u202e", "\ud800", "\ufffe", "\U000e0041", "a" * 10_000, "& " * 5_000),
)
SORTS = ("", "&sort=relevance", "&sort=price", "&sort=-price", "&sort=newest", "&sort=name")
SLOWEST_S = 1.0


def hostile(chance: random.Random) -> str:
    """Return a query string whose words are nobody's; some of it is not even UTF-8."""
    text = "".join(
        chance.choice(PIECES) + chance.choice(("", "", " ")) for _ in range(chance.choice((1, 1, 2, 3, 5, 9)))
    )
    raw = text.encode("utf-8", "surrogatepass")
    if chance.random() < 0.05:
        raw = bytes(chance.randrange(256) for _ in range(chance.randrange(1, 40)))
    field = chance.choice(("q", "q", "q", "q", "q", "brand", "category", "cursor"))
    return f"{field}={quote_from_bytes(raw, safe='')}{chance.choice(SORTS)}"


def test_no_query_is_an_error_slow_or_reads_the_orders(
    app: App, conn: Connection, owner_url: str, times: Times, random_seed: int
) -> None:
    chance, client = random.Random(random_seed), Client(app)
    make_order(conn)
    with psycopg.connect(owner_url, autocommit=True) as owner:
        # Without the time limit of the role that customers are served by.
        fill_with_many(owner, times(short=500, long=20_000))
        owner.execute("ANALYZE")
        before = scans_of_orders(owner, app)
        statuses: dict[int, int] = {}
        for _ in range(times(short=300, long=10_000)):
            query = hostile(chance)
            path = "/v1/products/suggest" if query.startswith("q=") and chance.random() < 0.3 else "/v1/products"
            if path.endswith("suggest"):
                query = query.partition("&")[0]
            started = time.monotonic()
            answer = client.get(path, query)
            took = time.monotonic() - started
            assert answer.status in {200, 422}, (path, query)
            assert took < SLOWEST_S, (path, query)
            statuses[answer.status] = statuses.get(answer.status, 0) + 1
        assert min(statuses.get(200, 0), statuses.get(422, 0)) > 30, "the queries are all of one kind"
        assert scans_of_orders(owner, app) == before


def scans_of_orders(owner: Connection, app: App) -> int:
    """Return how often a table other than the catalog's has been read."""
    with app.database.connection() as conn:
        for session in (conn, owner):
            session.execute("SELECT pg_stat_force_next_flush()")
            session.execute("SELECT 1")
    rows = owner.execute(
        """
        SELECT coalesce(sum(seq_scan + coalesce(idx_scan, 0)), 0)::bigint FROM pg_stat_user_tables
        WHERE relname !~ '^(product|search)'"""
    ).fetchall()
    return int(rows[0][0])
