"""What happened when, as lines that a person reads from top to bottom."""

import threading
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, order=True)
class _Entry:
    at: datetime
    who: str
    what: str
    result: str


class Timeline:
    """Collects entries from many threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._entries: list[_Entry] = []

    def add(self, at: datetime, who: str, what: str, result: str) -> None:
        with self._lock:
            self._entries.append(_Entry(at, who, what, result))

    def text(self) -> str:
        """Return aligned lines in the order of time, counted in seconds from the first entry."""
        entries = sorted(self._entries)
        who = max((len(entry.who) for entry in entries), default=0)
        what = max((len(entry.what) for entry in entries), default=0)
        lines = []
        for entry in entries:
            seconds = (entry.at - entries[0].at).total_seconds()
            lines.append(f"{seconds:7.3f} s  {entry.who:<{who}}  {entry.what:<{what}}  {entry.result}")
        return "\n".join(lines)
