"""What retention keeps and removes, as numbers."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True)
class Step:
    """What one step removed, and where the next one begins; None where nothing is left."""

    removed: int
    next: str | None


@dataclass(frozen=True)
class Pruned:
    """What one run removed, by rule.

    `lag_s` is how long the oldest row that it left is beyond its window, in seconds; 0 where it left none. Rows that
    somebody held for a moment are the next run's.
    """

    removed: Mapping[str, int]
    lag_s: float


@dataclass(frozen=True)
class KeptRows:
    """How one rule stands.

    `rows` is PostgreSQL's estimate, None before it has looked. `due` is how many have had their time, among the first
    10,000 that are looked at, and `oldest_due` when the first of them ended; both are None where nothing is removed.
    """

    what: str
    kept_days: int | None
    since: str
    why: str
    rows: int | None
    oldest: datetime | None
    due: int | None
    oldest_due: datetime | None


@dataclass(frozen=True)
class RetentionState:
    """Every rule, in the order of the policy."""

    rules: tuple[KeptRows, ...]
