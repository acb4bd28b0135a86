"""Text that people type and gateways send: the one rule for what we take, and how it is made fit to be printed.

Refused are characters that nobody sees and that act on what stands around them, or that cannot be stored. Whatever
names need passes: joiners inside of words, marks in any order, direction marks, emoji. Letters that this Python does
not know yet pass too, because customers' telephones know them earlier.
"""

import re
import unicodedata

_LINE_BREAKS = r"\n\r"
_CONTROLS_IN_LINES = r"\x00-\x09\x0b\x0c\x0e-\x1f\x7f-\x9f"
_CONTROLS = r"\x00-\x1f\x7f-\x9f"

# Each range is written so that Python, JSON Schema and Rust read it alike: beyond the 16-bit plane only the character
# itself is. Half surrogate pairs are left out, for JSON text has none: `flaw` looks for them besides.
_INVISIBLE = (
    r"\u2028\u2029"  # line and paragraph separators
    r"\u202a-\u202e\u2066-\u2069"  # embeddings, overrides and isolates: they turn what follows them
    r"\u2065\u206a-\u206f\ufff0-\ufffb"  # deprecated controls, annotations, and what is reserved for more of them
    r"\ufdd0-\ufdef\ufffe\uffff"  # noncharacters
    + "".join(chr(plane + 0xFFFE) + chr(plane + 0xFFFF) for plane in range(0x10000, 0x110000, 0x10000))
    + "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"  # controls of shorthand and of music
    + "\U000e0000-\U000e00ff\U000e01f0-\U000e0fff"  # tags: a second text, hidden in the first
)
# Allowed, and nothing to look at.
_BLANKS = r" \xa0\u1680\u2000-\u200a\u202f\u205f\u3000"
_ZERO_WIDTH = (
    r"\xad\u034f\u061c\u180b-\u180f\u200b-\u200f\u2060-\u2064\ufe00-\ufe0f\ufeff"
    r"\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"  # fillers: letters, as far as Unicode is concerned
    "\U00013441\U00013442\U0001d159\U000e0100-\U000e01ef"
)
_MARKS = r"\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f"

_REFUSED = _CONTROLS + _INVISIBLE
_REFUSED_IN_LINES = _CONTROLS_IN_LINES + _INVISIBLE
_NOTHING = _BLANKS + _ZERO_WIDTH + _MARKS

ONE_LINE_PATTERN = f"^[^{_REFUSED}]*$"
"""What `flaw` allows, for readers of a JSON Schema."""
FILLED_LINE_PATTERN = f"^[{_NOTHING}]*[^{_REFUSED}{_NOTHING}][^{_REFUSED}]*$"
FILLED_LINES_PATTERN = f"^[{_LINE_BREAKS}{_NOTHING}]*[^{_REFUSED}{_NOTHING}][^{_REFUSED_IN_LINES}]*$"
"""The same of what `is_blank` does not find blank, without and with line breaks; of marks that stand alone they know
those that go with many scripts."""

_FLAW = re.compile(f"[{_REFUSED}\ud800-\udfff]")
_FLAW_IN_LINES = re.compile(f"[{_REFUSED_IN_LINES}\ud800-\udfff]")
_SHOWS_NOTHING = re.compile(f"[{_LINE_BREAKS}{_NOTHING}]")
_HAS_NO_WIDTH = re.compile(f"[{_ZERO_WIDTH}]")
_ESCAPED = re.compile(f"[{_REFUSED}{_ZERO_WIDTH}\ud800-\udfff]")

_RIGHT_TO_LEFT = frozenset({"R", "AL", "AN"})
_FIRST_STRONG_ISOLATE, _POP_ISOLATE = "\u2068", "\u2069"


def flaw(text: str, *, lines: bool = False) -> str | None:
    """Return what is wrong with the characters of a text, or None; with `lines` it may have line breaks.

    Of the text nothing is repeated but the number of a character that nobody sees.
    """
    found = (_FLAW_IN_LINES if lines else _FLAW).search(text)
    if found is None:
        return None
    match unicodedata.category(found[0]):
        case "Cs":
            return "must be text without half a surrogate pair"
        case "Cc":
            return "must be text without control characters"
        case _:
            return f"must be text without U+{ord(found[0]):04X}, which nobody sees"


def is_blank(text: str) -> bool:
    """Return whether there is nothing to look at: blanks, what has no width, and marks without a letter to stand on."""
    return all(_SHOWS_NOTHING.match(each) or unicodedata.category(each)[0] == "M" for each in text)


def without_zero_width(text: str) -> str:
    """Return the text without what is drawn as nothing: joiners, selectors of variants, fillers.

    For what draws each character by itself and would draw these as well. Blanks and marks stay.
    """
    return _HAS_NO_WIDTH.sub("", text)


def filled_line(text: str) -> str:
    """Return the text; raises `ValueError` where it is not one line with something to look at."""
    return _filled(text, flaw(text))


def filled_lines(text: str) -> str:
    """Return the text; raises `ValueError` where it has other than line breaks and characters to look at."""
    return _filled(text, flaw(text, lines=True))


def one_line(text: str) -> str:
    """Return the text as one line without runs of spaces and what `flaw` refuses; empty where it is blank.

    For what was stored before the rule. A header or a line of a plain text mail cannot be broken out of.
    """
    line = " ".join(_FLAW.sub(" ", text).split())
    return "" if is_blank(line) else line


def lines(text: str) -> list[str]:
    """Return the lines that have something on them, each as `one_line` leaves it."""
    return [line for raw in text.splitlines() if (line := one_line(raw))]


def escaped(text: str) -> str:
    r"""Return the text with `\u202e` in place of each character that acts and is not seen.

    For screens of people on call: nothing is lost, two texts that differ look different, and the cursor stays where it
    is.
    """
    return _ESCAPED.sub(lambda found: _escape(found[0]), text)


def isolated(text: str) -> str:
    """Return the text so that right-to-left letters in it leave the words around it where they are.

    For plain text only; HTML has `dir="auto"`.
    """
    if any(unicodedata.bidirectional(character) in _RIGHT_TO_LEFT for character in text):
        return f"{_FIRST_STRONG_ISOLATE}{text}{_POP_ISOLATE}"
    return text


def _filled(text: str, message: str | None) -> str:
    if message := message or ("must not be blank" if is_blank(text) else None):
        raise ValueError(message)
    return text


def _escape(character: str) -> str:
    code = ord(character)
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
