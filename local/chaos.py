"""Switches that break a part of the local system on purpose, so that people can see what the shop does about it.

A switch is on while a file of its name is in the state folder: each part that a switch breaks, in whatever process,
looks there itself. None of them is known to the code that is deployed.
"""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path


class Switch(StrEnum):
    """What can be broken. The names are a contract with scripts."""

    MAIL_DOWN = "mail_down"
    MAIL_THROTTLED = "mail_throttled"
    POISON_JOB = "poison_job"
    DATABASE_GONE = "database_gone"
    DATABASE_SLOW = "database_slow"
    SQS_DOWN = "sqs_down"
    DUPLICATE_DELIVERY = "duplicate_delivery"

    @property
    def heading(self) -> str:
        return _TEXTS[self][0]

    @property
    def effect(self) -> str:
        return _TEXTS[self][1]


_TEXTS = {
    Switch.MAIL_DOWN: ("Mail provider down", "SES answers every mail with 503."),
    Switch.MAIL_THROTTLED: ("Mail throttled", "SES answers every mail with 429, too many requests."),
    Switch.POISON_JOB: (
        "Poison job",
        "The next job kills its worker at every attempt; the waits between the attempts are left out.",
    ),
    Switch.DATABASE_GONE: ("Database gone", "The functions lose their connections and get no new ones."),
    Switch.DATABASE_SLOW: ("Database slow", "Each round trip of the functions takes half a second longer."),
    Switch.SQS_DOWN: ("SQS down", "Every call of SQS is answered with 503."),
    Switch.DUPLICATE_DELIVERY: ("Duplicate delivery", "Every batch is handed to two workers at once."),
}


@dataclass(frozen=True)
class Switches:
    """The switches of one system, kept in `folder`."""

    folder: Path

    def is_on(self, switch: Switch) -> bool:
        return (self.folder / switch).exists()

    def on_since(self, switch: Switch) -> int | None:
        """Return when a switch was turned on, as a number that no other time has; None where it is off."""
        try:
            return (self.folder / switch).stat().st_mtime_ns
        except FileNotFoundError:
            return None

    def turn(self, switch: Switch, *, on: bool) -> None:
        """Turn a switch; it may be that way already."""
        if on:
            self.folder.mkdir(parents=True, exist_ok=True)
            if not self.is_on(switch):
                (self.folder / switch).touch()
        else:
            (self.folder / switch).unlink(missing_ok=True)

    def all_off(self) -> None:
        for switch in Switch:
            self.turn(switch, on=False)

    def on(self) -> frozenset[Switch]:
        """Return those that are on."""
        return frozenset(switch for switch in Switch if self.is_on(switch))
