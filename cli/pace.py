"""How fast a long command goes."""

import time
from collections.abc import Callable, Iterator, Sequence


class Pace:
    """Hands out things in groups, never more a second than asked for."""

    def __init__(
        self,
        per_second: float | None,
        *,
        largest: int,
        now: Callable[[], float] = time.monotonic,
        wait: Callable[[float], None] = time.sleep,
    ) -> None:
        """`per_second` of None is as fast as it goes; groups have at most `largest` things."""
        self._per_second = per_second
        self._size = largest if per_second is None else max(1, min(largest, int(per_second)))
        self._now = now
        self._wait = wait
        self._next = 0.0

    def groups[T](self, things: Sequence[T]) -> Iterator[Sequence[T]]:
        """Yield the things in groups, each when its time has come; the pace holds from one call to the next."""
        for start in range(0, len(things), self._size):
            group = things[start : start + self._size]
            if self._per_second is not None:
                self._wait(max(self._next - self._now(), 0))
                self._next = self._now() + len(group) / self._per_second
            yield group
