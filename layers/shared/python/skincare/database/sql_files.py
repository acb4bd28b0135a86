"""The SQL files that make the schema: `migrations/` by number, `functions/` by name."""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files

_OUTSIDE = "-- Outside of a transaction"
_WITH = re.compile(r"-- With ([^:]+):")
_END_OF_STATEMENT = re.compile(r";\s*$", re.MULTILINE)
_VERSION = re.compile(r"-- Version ([1-9]\d*)\.$", re.MULTILINE)


@dataclass(frozen=True)
class Migration:
    """A numbered file: tables, rights and data."""

    name: str
    text: str

    @property
    def checksum(self) -> str:
        return _checksum(self.text)

    @property
    def is_outside(self) -> bool:
        """Whether its statements run one by one and outside of a transaction."""
        return self.text.startswith(_OUTSIDE)

    @property
    def brings(self) -> frozenset[str]:
        """The function files that its first lines name: they are installed in its own transaction."""
        named = _WITH.match(self.text)
        return frozenset(re.findall(r"\w+\.sql", named[1])) if named else frozenset()

    def statements(self) -> list[str]:
        return _END_OF_STATEMENT.split(self.text)


@dataclass(frozen=True)
class Function:
    """A function with its triggers, or a trigger alone. Its first line is its version, as in `-- Version 1.`"""

    name: str
    text: str

    @property
    def checksum(self) -> str:
        return _checksum(self.text)

    @property
    def version(self) -> int:
        """Counted from 1. Raises `ValueError` where the file states none."""
        version = _VERSION.match(self.text)
        if version is None:
            raise ValueError(f"{self.name} does not begin with its version, as in: -- Version 1.")
        return int(version[1])

    @property
    def is_trigger(self) -> bool:
        """Whether it is a trigger alone, which needs its function before it."""
        return "CREATE OR REPLACE FUNCTION" not in self.text


def migrations() -> list[Migration]:
    """Return the numbered files in the order in which they apply."""
    return [Migration(name, text) for name, text in sorted(_read("migrations"))]


def functions() -> list[Function]:
    """Return the functions in the order in which they apply: by name, with triggers alone at the end."""
    found = (Function(name, text) for name, text in _read("functions"))
    return sorted(found, key=lambda each: (each.is_trigger, each.name))


def _read(folder: str) -> Iterator[tuple[str, str]]:
    for entry in files(__package__).joinpath(folder).iterdir():
        if entry.name.endswith(".sql"):
            yield entry.name, entry.read_text()


def _checksum(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
