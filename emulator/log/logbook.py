"""The log of a system: every line of every function raw in a file, and readable on the terminal.

Logging never raises: whoever has something to say has work to do that matters more. Lines that no file took are
counted, and the number stands in the file once it takes lines again.
"""

import contextlib
import json
import threading
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TextIO

from emulator.log.lines import LineFile

_LARGEST_FILE = 5_000_000

# What Lambda and Powertools add to each line and nobody reads on a terminal.
_NOISE = frozenset(
    {
        "aws_request_id",
        "cold_start",
        "errorType",
        "function_arn",
        "function_memory_size",
        "function_name",
        "function_request_id",
        "level",
        "location",
        "logger",
        "message",
        "requestId",
        "sampling_rate",
        "service",
        "stackTrace",
        "timestamp",
        "xray_trace_id",
    }
)
_COLOURS = {"ERROR": "31", "CRITICAL": "31", "WARNING": "33", "DEBUG": "2"}


def utc(moment: datetime) -> str:
    """Return a moment to the second: `2026-11-30 15:27:52 UTC`."""
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def printable(text: str) -> str:
    r"""Return the text with `\x1b` in place of each character that would act on the terminal, or is not seen."""
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)


class LogBook:
    """Takes log lines from many threads. `terminal` None means that only the files are written."""

    def __init__(
        self,
        folder: Path,
        terminal: TextIO | None,
        *,
        clock: Callable[[datetime], str] = utc,
        fit: Callable[[str], str] = printable,
    ) -> None:
        """`clock` and `fit` make a moment and a line fit to be read on the terminal."""
        self._clock = clock
        self._fit = fit
        self._folder = folder
        self._terminal = terminal
        self._colour = terminal is not None and terminal.isatty()
        self._lock = threading.Lock()
        self._files: dict[str, LineFile] = {}
        self._lost: dict[str, int] = {}
        self._closed = False

    def relay(self, source: str, line: str) -> None:
        """Write down one line of a function's output."""
        if not line:
            return
        shown = readable(line)
        with self._lock:
            if self._closed:  # the last words of a container that was killed
                return
            self._keep(source, line)
            if shown:
                self._show(source, *shown)

    def event(self, source: str, name: str, *, level: str = "INFO", **keys: Any) -> None:
        """Write down what the system itself has to say: a stable event name and ids."""
        self.relay(source, _line(name, level=level, **keys))

    def say(self, text: str) -> None:
        """Show a sentence for the person at the terminal."""
        with self._lock:
            self._print(text)

    def close(self) -> None:
        """Write no more files; the terminal stays."""
        with self._lock:
            self._closed = True
            for file in self._files.values():
                with contextlib.suppress(OSError):
                    file.close()
            self._files.clear()

    def _show(self, source: str, level: str, text: str) -> None:
        line = f"{self._clock(_now())} {source:<21} {self._fit(text)}"
        if self._colour and (code := _COLOURS.get(level)):
            line = f"\x1b[{code}m{line}\x1b[0m"
        self._print(line)

    def _print(self, text: str) -> None:
        if self._terminal:
            try:
                print(text, file=self._terminal, flush=True)
            except (OSError, ValueError):  # the terminal was closed: the files still tell everything
                self._terminal = None

    def _keep(self, source: str, line: str) -> None:
        lost = self._lost.get(source, 0)
        try:
            file = self._file(source)
            if lost:
                file.append(_line("log.lines_lost", level="WARNING", lines=lost))
                del self._lost[source]
                lost = 0
            file.append(line)
        except OSError:  # the disk is full, or the folder is gone
            self._lost[source] = lost + 1

    def _file(self, source: str) -> LineFile:
        if source not in self._files:
            self._folder.mkdir(parents=True, exist_ok=True)
            path = self._folder / f"{source}.log"
            if path.exists() and path.stat().st_size > _LARGEST_FILE:
                path.write_bytes(b"")
            self._files[source] = LineFile(path)
        return self._files[source]


def readable(line: str) -> tuple[str, str] | None:
    """Return level and text of a log line as a person reads it.

    None for what nobody wants to read: metrics, and the health checks that went well.
    """
    try:
        entry = json.loads(line)
    except ValueError:
        return "INFO", line
    if not isinstance(entry, Mapping):
        return "INFO", line
    if "_aws" in entry or (entry.get("route"), entry.get("status")) == ("/health", 200):
        return None
    level = str(entry.get("level", "INFO"))
    words = [str(entry.get("message") or entry.get("errorType") or "-")]
    if level != "INFO":
        words.insert(0, level)
    words += [f"{key}={_plain(value)}" for key, value in entry.items() if key not in _NOISE and value is not None]
    return level, " ".join(words)


def _line(name: str, *, level: str, **keys: Any) -> str:
    return json.dumps({"level": level, "message": name, "timestamp": _now().isoformat(), **keys}, default=str)


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _now() -> datetime:
    return datetime.now(UTC)
