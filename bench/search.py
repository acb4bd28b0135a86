"""Search: how long a customer waits for a page with facets, in a large catalog."""

import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import chain
from multiprocessing import get_context

from psycopg import Connection

from bench.environment import BenchEnvironment, Effort
from bench.figure import Figure, at_most
from bench.rounds import percentile
from bench.shop import settle_down
from skincare.catalog.search import service
from skincare.catalog.search.models import Search
from skincare.database.connection import Database, StaticCredentials

_CLIENTS = 4
_KINDS = ("serum", "toner", "pelembab", "masker", "sabun", "krim", "sampo")
_SUBSTANCES = ("niacinamide", "retinol", "ceramide", "aloe", "panthenol", "squalane", "centella", "collagen", "zinc")
_PAGE = 24


def measure(bench: BenchEnvironment, effort: Effort) -> Iterator[Figure]:
    """Two words and facets, asked by four processes at once."""
    products = effort.times(100_000)
    with bench.database() as database:
        _fill(database.owner, products)
        settle_down(database.owner)
        each = effort.times(200)
        waits: list[list[float]] = []
        with ProcessPoolExecutor(_CLIENTS, mp_context=get_context("spawn")) as clients:
            for turn in range(effort.rounds + 1):
                ask = partial(_ask, database.url, each, turn)
                waits.append(sorted(chain.from_iterable(clients.map(ask, range(_CLIENTS)))))
    # In the first round processes are started and pages read.
    waits = waits[1:]
    yield Figure(
        "search.two-words",
        f"p99 of a search for two words with facets, {products} products, {_CLIENTS} clients",
        [percentile(each_round, 99) for each_round in waits],
        unit="ms",
        aim=at_most(50),
        parts={f"p{p} (ms)": percentile(list(chain.from_iterable(waits)), p) for p in (50, 90)},
    )


def _ask(url: str, times: int, turn: int, client: int) -> list[float]:
    """Return how long each search took, in milliseconds."""
    database = Database(StaticCredentials(url))
    took = []
    for number in range(times):
        n = number * _CLIENTS + client + turn
        search = Search(q=f"{_SUBSTANCES[n % len(_SUBSTANCES)]} {_KINDS[n % len(_KINDS)]}")
        started = time.perf_counter()
        found = service.find(search, limit=_PAGE, cursor=None, database=database)
        took.append((time.perf_counter() - started) * 1000)
        if not found.data or found.nearest:
            raise RuntimeError(f"nothing was found for {search.q}")
    database.close()
    return took


def _fill(owner: Connection, products: int) -> None:
    """Put products in of every kind and substance, with texts in two languages."""
    owner.execute(
        """
        INSERT INTO products (sku, name, name_en, price_rupiah, stock)
        SELECT 'SEARCH-' || n, k.word || ' ' || s.word || ' ' || n, s.word || ' ' || k.word,
            10000 + n * 7919 %% 900000, n %% 9
        FROM generate_series(1, %(products)s) n,
            LATERAL (SELECT (%(kinds)s::text[])[1 + n %% %(of_kinds)s] AS word) k,
            LATERAL (SELECT (%(substances)s::text[])[1 + n %% %(of_substances)s] AS word) s""",
        {
            "products": products,
            "kinds": list(_KINDS),
            "of_kinds": len(_KINDS),
            "substances": list(_SUBSTANCES),
            "of_substances": len(_SUBSTANCES),
        },
    )
    owner.execute(
        """
        INSERT INTO product_details (product_id, brand, category, description_id, description_en)
        SELECT id, 'Merek ' || id % 40, 'skin/' || (ARRAY['serum', 'toner', 'mask', 'soap', 'cream'])[1 + id % 5],
            'Membantu mencerahkan dan melembapkan kulit kering sepanjang hari, pagi dan malam. Nomor ' || id,
            'Helps to brighten and moisturise dry skin all day long, made for mornings and nights. Number ' || id
        FROM products"""
    )
