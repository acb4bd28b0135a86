"""Text that people typed, made fit for mails and documents."""

import unicodedata

# They turn the direction of everything that follows; isolates that we add ourselves are closed again.
_DIRECTION_CONTROLS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
# Line and paragraph separators need no mention: split() takes them for spaces.
_BREAKING = frozenset({"Cc", "Cs"})
_RIGHT_TO_LEFT = frozenset({"R", "AL", "AN"})
_FIRST_STRONG_ISOLATE, _POP_ISOLATE = "\u2068", "\u2069"


def one_line(text: str) -> str:
    """Return the text as one line without controls, direction overrides and runs of spaces.

    Emoji keep their joiners. A header or a line of a plain text mail cannot be broken out of.
    """
    return " ".join("".join(" " if _breaks(character) else character for character in text).split())


def lines(text: str) -> list[str]:
    """Return the lines that have something on them, each as `one_line` leaves it."""
    return [line for raw in text.splitlines() if (line := one_line(raw))]


def isolated(text: str) -> str:
    """Return the text so that right-to-left letters in it leave the words around it where they are.

    For plain text only; HTML has `dir="auto"`.
    """
    if any(unicodedata.bidirectional(character) in _RIGHT_TO_LEFT for character in text):
        return f"{_FIRST_STRONG_ISOLATE}{text}{_POP_ISOLATE}"
    return text


def _breaks(character: str) -> bool:
    return character in _DIRECTION_CONTROLS or unicodedata.category(character) in _BREAKING
