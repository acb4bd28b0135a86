"""How many round trips a checkout waits for: the slope of its latency over the network's round trip time."""

import contextlib
from collections.abc import Iterator
from functools import partial
from statistics import median

from bench.checkouts import statement_per_trip
from bench.delay import delayed
from bench.environment import BenchEnvironment, Effort
from bench.figure import Figure, at_most
from bench.rounds import alternate_us, ratios, slope
from bench.shop import fill_carts, open_shop, place, settle_down, user
from skincare.database.connection import Database, StaticCredentials
from skincare.identifiers import UserId

_RTT_MS = (0.0, 2.0, 5.0)
_WAYS = ("one statement", "a statement per trip", "SELECT 1")


def measure(bench: BenchEnvironment, effort: Effort) -> Iterator[Figure]:
    """The slope of a checkout over the slope of SELECT 1, with connections from the API's pool."""
    times = effort.times(30)
    with bench.database() as database, contextlib.ExitStack() as stack:
        open_shop(database.owner)
        ways_in = {}
        for rtt in _RTT_MS:
            url = stack.enter_context(delayed(database.url, milliseconds=rtt))
            ways_in[rtt] = Database(StaticCredentials(url))
            stack.callback(ways_in[rtt].close)
            for turn in range(effort.rounds):
                for way in _WAYS[:2]:
                    fill_carts(database.owner, f"{way}-{rtt}-{turn}", clients=1, each=times)
        settle_down(database.owner)
        slopes: dict[str, list[float]] = {way: [] for way in _WAYS}
        for turn in range(effort.rounds):
            points: dict[str, list[tuple[float, float]]] = {way: [] for way in _WAYS}
            for rtt, way_in in ways_in.items():
                with way_in.connection() as conn:
                    conn.execute("SELECT 1")
                users = [map(partial(user, f"{way}-{rtt}-{turn}", 0), range(1, times + 1)) for way in _WAYS[:2]]
                calls = [
                    partial(_one_statement, way_in, users[0]),
                    partial(_per_trip, way_in, users[1]),
                    partial(_select_1, way_in),
                ]
                for way, value in zip(_WAYS, alternate_us(calls, times=times), strict=True):
                    points[way].append((rtt, value / 1000))
            for way in _WAYS:
                slopes[way].append(slope(points[way]))
        parts = {f"{way} (ms per ms)": median(values) for way, values in slopes.items()}
        yield Figure(
            "round-trips.checkout",
            "round trips of a checkout: its slope over the network's ÷ that of SELECT 1",
            ratios(slopes["one statement"], slopes["SELECT 1"]),
            unit="",
            aim=at_most(1.2),
            parts=parts,
        )


def _one_statement(database: Database, users: Iterator[UserId]) -> None:
    with database.connection() as conn:
        place(conn, next(users))


def _per_trip(database: Database, users: Iterator[UserId]) -> None:
    with database.connection() as conn:
        statement_per_trip(conn, next(users))


def _select_1(database: Database) -> None:
    with database.connection() as conn:
        conn.execute("SELECT 1").fetchone()
