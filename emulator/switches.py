"""Switches that break a part of the system on purpose.

A switch is on while a file of its name is in the folder of the switches: each part that a switch breaks, in whatever
process, looks there itself.
"""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path


class Fault(StrEnum):
    """The switches that the emulator itself obeys; who uses it may have more. The names are a contract with scripts."""

    MAIL_DOWN = "mail_down"
    MAIL_THROTTLED = "mail_throttled"
    SQS_DOWN = "sqs_down"
    DATABASE_GONE = "database_gone"
    DATABASE_SLOW = "database_slow"


@dataclass(frozen=True)
class Switches:
    """The switches of one system, kept in `folder`. The name of a switch is the name of a file."""

    folder: Path

    def is_on(self, switch: str) -> bool:
        return (self.folder / switch).exists()

    def on_since(self, switch: str) -> int | None:
        """Return when a switch was turned on, as a number that no other time has; None where it is off."""
        try:
            return (self.folder / switch).stat().st_mtime_ns
        except FileNotFoundError:
            return None

    def turn(self, switch: str, *, on: bool) -> None:
        """Turn a switch; it may be that way already."""
        if on:
            self.folder.mkdir(parents=True, exist_ok=True)
            if not self.is_on(switch):
                (self.folder / switch).touch()
        else:
            (self.folder / switch).unlink(missing_ok=True)

    def all_off(self) -> None:
        for switch in self.on():
            self.turn(switch, on=False)

    def on(self) -> frozenset[str]:
        """Return those that are on."""
        return frozenset(file.name for file in self.folder.glob("*"))
