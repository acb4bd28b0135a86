"""How long gateways may be waited for: one deadline for all calls that an operation makes, whatever each may take."""

import random
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

_ALL_IN_ONE_TRY = 2

_ends_at: ContextVar[float | None] = ContextVar("gateway_deadline", default=None)


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Let whatever runs inside, in this thread, wait no longer than this; a deadline around it still holds."""
    ends_at = time.monotonic() + seconds
    outer = _ends_at.get()
    token = _ends_at.set(ends_at if outer is None else min(ends_at, outer))
    try:
        yield
    finally:
        _ends_at.reset(token)


def seconds_left() -> float:
    """Return what is left of the deadline, zero or less once it has passed, and infinity where there is none."""
    ends_at = _ends_at.get()
    return float("inf") if ends_at is None else ends_at - time.monotonic()


def in_turn[T](things: Sequence[T]) -> Sequence[T]:
    """Return what is to be asked about in the order of this try.

    Of many there may be no time for all: each try begins somewhere else, so that every one has its turn.
    """
    if len(things) <= _ALL_IN_ONE_TRY:
        return things
    first = random.randrange(len(things))  # noqa: S311  no secret
    return [*things[first:], *things[:first]]
