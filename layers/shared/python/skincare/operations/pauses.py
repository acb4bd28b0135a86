"""What the on-call engineer is told about pauses."""

from collections.abc import Mapping
from dataclasses import dataclass

from skincare.jobs.models import Pause


@dataclass(frozen=True)
class Pauses:
    """The pauses that are on, the oldest first."""

    pauses: tuple[Pause, ...]


@dataclass(frozen=True)
class PauseChange:
    """How many pauses a change began, extended or ended, its `counts` by outcome, and the pauses that are on now."""

    changed: int
    counts: Mapping[str, int]
    pauses: tuple[Pause, ...]
