"""Checkout: our statement through psycopg beside pgbench, its job, and one hot product."""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from statistics import median

from bench import pgbench
from bench.clients import Clients, Outcome, Shopping
from bench.delay import delayed
from bench.environment import BenchDatabase, BenchEnvironment, Effort
from bench.figure import Figure, at_least, at_most
from bench.rounds import alternate_us, interleave, percentile, ratios
from bench.server_cost import ServerCost, never_vacuumed
from bench.shop import (
    bare_checkout,
    deadlocks,
    fill_carts,
    make_checkout_without_job,
    open_shop,
    oversold,
    place,
    set_stock,
    settle_down,
    user,
)
from skincare.database.session import Session

_CONCURRENCY = {1: (500, 0.75), 4: (250, 0.70), 16: (80, 0.70)}
"""Clients: checkouts of each in a round, and the aim."""

_EARLIER_ORDERS = 1000
"""A shop that is open: on its first day a figure would say when the server happened to look at its tables."""

_MANY = 16
_RTT_MS = 1.0
_SCARCE = 100


def throughput(bench: BenchEnvironment, effort: Effort) -> Iterator[Figure]:
    """Our clients over pgbench, both calling the same statement."""
    with bench.database() as database, Clients(_MANY) as clients:
        open_shop(database.owner)
        _sell(database, _EARLIER_ORDERS)
        for number, (checkouts, aim) in _CONCURRENCY.items():
            each = effort.times(checkouts)
            for side in ("ours", "pgbench"):
                for turn in range(effort.rounds):
                    fill_carts(database.owner, f"{side}-{number}-{turn}", clients=number, each=each)
            settle_down(database.owner)
            values = interleave(
                {
                    "ours": _ours(clients, database, number, each, effort.rounds),
                    "pgbench": _pgbench(bench, database, number, each, effort.rounds),
                },
                rounds=effort.rounds,
            )
            yield Figure(
                f"checkout.clients-{number}",
                f"checkouts through psycopg ÷ pgbench, {number} client{'s' * (number > 1)}",
                ratios(values["ours"], values["pgbench"]),
                aim=at_least(aim),
                parts={f"{side} (per s)": median(rates) for side, rates in values.items()},
            )


def _sell(database: BenchDatabase, orders: int) -> None:
    """Place orders through a session of its own: nobody who is measured knows the tables as they were before."""
    fill_carts(database.owner, "earlier", clients=1, each=orders)
    settle_down(database.owner)
    with Session.open(database.url) as conn:
        for number in range(1, orders + 1):
            place(conn, user("earlier", 0, number))


def growth(bench: BenchEnvironment, effort: Effort) -> Iterator[Figure]:
    """What a checkout costs the server: the same session after many orders over after few, in an empty shop.

    Autovacuum is off: a session plans while there are no orders, and nothing tells it that there are many.
    """
    window, few, many = effort.times(200), effort.times(200), effort.times(2000)
    ratio, parts = [], {}
    for turn in range(min(effort.rounds, 3)):
        with bench.database() as database, Session.open(database.url) as conn:
            never_vacuumed(database.owner)
            open_shop(database.owner)
            fill_carts(database.owner, "growth", clients=1, each=many + window)
            settle_down(database.owner)
            cost = ServerCost(database.owner, [conn])
            spent = {}
            for number in range(1, many + window + 1):
                if number in {few + 1, many + 1}:
                    cost.lap()
                place(conn, user("growth", 0, number))
                if number in {few + window, many + window}:
                    spent[number - window] = cost.lap().per(window)
        ratio.append(spent[many].cpu_us / spent[few].cpu_us)
        for orders, each in spent.items():
            parts[f"CPU after {orders} orders, round {turn + 1} (µs)"] = each.cpu_us
        parts[f"WAL, round {turn + 1} (B)"] = spent[many].wal_bytes
    yield Figure(
        "checkout.growth",
        f"server CPU of a checkout after {many} orders ÷ after {few}, one session, no autovacuum",
        ratio,
        aim=at_most(1.05),
        parts=parts,
    )


def _ours(clients: Clients, database: BenchDatabase, number: int, each: int, rounds: int) -> Callable[[], float]:
    turns = iter(range(rounds))
    return lambda: (
        clients.shop(
            Shopping(database.url, "one statement", f"ours-{number}-{next(turns)}", each), clients=number
        ).per_s
    )


def _pgbench(
    bench: BenchEnvironment, database: BenchDatabase, number: int, each: int, rounds: int
) -> Callable[[], float]:
    turns = iter(range(rounds))

    def run() -> float:
        turn = next(turns)
        return pgbench.check_out(
            database.url,
            bench.scratch,
            prefix=f"pgbench-{number}-{turn}",
            tag=f"{number:02}{turn}",
            clients=number,
            each=each,
        )

    return run


def enqueue(bench: BenchEnvironment, effort: Effort) -> Iterator[Figure]:
    """What the jobs cost that are written in the order's own statement."""
    with bench.database() as database, Session.open(database.url) as conn:
        open_shop(database.owner)
        make_checkout_without_job(database.owner)
        times = effort.times(400)
        names = {"place_order": "with", "place_order_alone": "alone"}
        for side in names.values():
            fill_carts(database.owner, side, clients=effort.rounds, each=times)
        settle_down(database.owner)
        samples: dict[str, list[float]] = {side: [] for side in names.values()}
        for turn in range(effort.rounds):
            calls = [
                partial(_next_of, bare_checkout(conn, function=function), iter(range(1, times + 1)), side, turn)
                for function, side in names.items()
            ]
            for side, value in zip(names.values(), alternate_us(calls, times=times), strict=True):
                samples[side].append(value)
        yield Figure(
            "checkout.enqueue",
            "order + its two jobs ÷ order alone, the same function without the insert",
            ratios(samples["with"], samples["alone"]),
            aim=at_most(1.10),
            parts={f"{side} (µs)": median(values) for side, values in samples.items()},
        )


def _next_of(check_out: Callable[..., None], numbers: Iterator[int], prefix: str, turn: int) -> None:
    check_out(user(prefix, turn, next(numbers)))


def _rush(clients: Clients, url: str, how: str, kind: str, each: int) -> Callable[[], Outcome]:
    turns = count()
    return lambda: clients.shop(Shopping(url, how, f"{kind}-{next(turns)}", each))


def hot_product(bench: BenchEnvironment, effort: Effort) -> Iterator[Figure]:
    """Sixteen clients 1 ms away that all want product 1, in our way and statement by statement, and spread out."""
    kinds = {
        "hot": ("one statement", True, effort.times(100)),
        "hot, a statement per trip": ("a statement per trip", True, effort.times(15)),
        "spread": ("one statement", False, effort.times(100)),
    }
    rounds = min(effort.rounds, 5)
    with bench.database() as database, Clients(_MANY) as clients:
        open_shop(database.owner)
        for kind, (_, hot, each) in kinds.items():
            for turn in range(rounds):
                fill_carts(database.owner, f"{kind}-{turn}", clients=_MANY, each=each, hot=hot)
        settle_down(database.owner)
        with delayed(database.url, milliseconds=_RTT_MS) as url:
            outcomes = interleave(
                {kind: _rush(clients, url, how, kind, each) for kind, (how, _, each) in kinds.items()}, rounds=rounds
            )
        rates = {kind: [outcome.per_s for outcome in each] for kind, each in outcomes.items()}
        parts = {f"{kind} (per s)": median(values) for kind, values in rates.items()}
        for kind, turns in outcomes.items():
            parts[f"{kind} p99 (ms)"] = median(percentile(outcome.latencies_ms, 99) for outcome in turns)
        away = f"16 clients, {_RTT_MS:g} ms away"
        yield Figure(
            "checkout.hot-product",
            f"one hot product ÷ a statement per trip, {away}",
            ratios(rates["hot"], rates["hot, a statement per trip"]),
            aim=at_least(10),
            parts=parts,
        )
        yield Figure(
            "checkout.hot-product-spread",
            f"one hot product ÷ the same load spread, {away}",
            ratios(rates["hot"], rates["spread"]),
            aim=at_least(0.5),
        )
        wrong = oversold(database.owner)
        set_stock(database.owner, _SCARCE, sku="SKU-1")
        fill_carts(database.owner, "scarce", clients=_MANY, each=20, hot=True)
        outcome = clients.shop(Shopping(database.url, "one statement", "scarce", 20, scarce=True))
        yield Figure(
            "checkout.oversold",
            f"units sold that were not there, also 320 checkouts for {_SCARCE} units",
            [float(wrong + abs(outcome.placed - _SCARCE))],
            unit="units",
            aim=at_most(0),
        )
        yield Figure(
            "checkout.deadlocks",
            "deadlocks in all of these",
            [float(deadlocks(database.owner))],
            unit="",
            aim=at_most(0),
        )
