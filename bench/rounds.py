"""Rounds: what is compared runs side by side again and again, so that a busy moment meets all of it."""

from collections.abc import Callable, Mapping, Sequence
from statistics import median
from time import perf_counter_ns


class Stalled(Exception):
    """A round was held up by something that is not measured, so it says nothing; the message says by what."""


def interleave[K, V](variants: Mapping[K, Callable[[], V]], *, rounds: int) -> dict[K, list[V]]:
    """Run each variant once per round, every other round in the opposite order; return each one's values.

    A round in which a variant raises `Stalled` is left out for all of them. Raises the last `Stalled` where fewer
    than half of the rounds remain.
    """
    values: dict[K, list[V]] = {name: [] for name in variants}
    stalls: list[Stalled] = []
    for number in range(rounds):
        names = list(variants)
        try:
            measured = {name: variants[name]() for name in (names if number % 2 == 0 else reversed(names))}
        except Stalled as stalled:
            stalls.append(stalled)
            continue
        for name, value in measured.items():
            values[name].append(value)
    if len(stalls) * 2 > rounds:
        raise stalls[-1]
    return values


def ratios(numerators: Sequence[float], denominators: Sequence[float]) -> list[float]:
    """Return the ratio of each round."""
    return [above / below for above, below in zip(numerators, denominators, strict=True)]


def percentile(values: Sequence[float], percent: float) -> float:
    """Return the smallest value that at least this share of the values does not exceed."""
    if not 0 < percent <= 100:
        raise ValueError(f"{percent} is not within 0 and 100")
    ordered = sorted(values)
    rank = -(-len(ordered) * percent // 100)
    return ordered[max(int(rank), 1) - 1]


def slope(points: Sequence[tuple[float, float]]) -> float:
    """Return the rise of the least-squares line through (x, y) points; raises `ValueError` for a single x."""
    middle_x = sum(x for x, _ in points) / len(points)
    middle_y = sum(y for _, y in points) / len(points)
    spread = sum((x - middle_x) ** 2 for x, _ in points)
    if spread == 0:
        raise ValueError("a line needs two different x")
    return sum((x - middle_x) * (y - middle_y) for x, y in points) / spread


def alternate_us(calls: Sequence[Callable[[], object]], *, times: int) -> list[float]:
    """Return each call's median duration in microseconds when they take turns call by call."""
    durations: list[list[float]] = [[] for _ in calls]
    for number in range(times):
        order = range(len(calls)) if number % 2 == 0 else reversed(range(len(calls)))
        for index in order:
            durations[index].append(_duration_us(calls[index]))
    return [median(values) for values in durations]


def _duration_us(call: Callable[[], object]) -> float:
    started = perf_counter_ns()
    call()
    return (perf_counter_ns() - started) / 1000
