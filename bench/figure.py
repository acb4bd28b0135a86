"""A figure: one ratio or one time with what it was made of and what it should be."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from statistics import median


class Bound(StrEnum):
    AT_MOST = "at most"
    AT_LEAST = "at least"


@dataclass(frozen=True)
class Aim:
    """The value that a figure should keep to."""

    bound: Bound
    value: float

    def is_met_by(self, measured: float) -> bool:
        return measured <= self.value if self.bound is Bound.AT_MOST else measured >= self.value


@dataclass(frozen=True)
class Figure:
    """One measured value. `samples` holds the value of each round, and `value` is their median."""

    name: str
    """Stable, for comparing results: measurement.variant."""
    says: str
    """What was divided by what, for the table."""
    samples: Sequence[float]
    unit: str = "×"
    aim: Aim | None = None
    parts: Mapping[str, float] = field(default_factory=dict)
    """What the ratio was made of, with the unit in the name: absolute values of this machine at this moment."""

    @property
    def value(self) -> float:
        return median(self.samples)

    @property
    def is_met(self) -> bool | None:
        """None where there is no aim."""
        return None if self.aim is None else self.aim.is_met_by(self.value)


def at_most(value: float) -> Aim:
    return Aim(Bound.AT_MOST, value)


def at_least(value: float) -> Aim:
    return Aim(Bound.AT_LEAST, value)
