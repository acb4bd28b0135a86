"""Text that people send us: what of it can be stored, logged and printed."""

import unicodedata

_LINE_BREAKS = {"\n", "\r"}

# Unicode's White_Space without its control characters.
_BLANKS = r" \xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"

ONE_LINE_PATTERN = r"^[^\x00-\x1f\x7f-\x9f]*$"
"""What `flaw` allows, for readers of a JSON Schema: JSON text has no half surrogate pairs."""
FILLED_LINE_PATTERN = rf"^[{_BLANKS}]*[^\x00-\x1f\x7f-\x9f{_BLANKS}][^\x00-\x1f\x7f-\x9f]*$"
FILLED_LINES_PATTERN = rf"^[\n\r{_BLANKS}]*[^\x00-\x1f\x7f-\x9f{_BLANKS}][^\x00-\x09\x0b\x0c\x0e-\x1f\x7f-\x9f]*$"
"""The same of what is not blank, without and with `lines`."""


def flaw(text: str, *, lines: bool = False) -> str | None:
    """Return what is wrong with a text, or None.

    PostgreSQL takes no NUL, UTF-8 has no place for half a surrogate pair, and no other control character
    belongs into a name or an identifier. With `lines` the text may have line breaks.
    """
    for character in text:
        category = unicodedata.category(character)
        if category == "Cs":
            return "must be text without half a surrogate pair"
        if category == "Cc" and not (lines and character in _LINE_BREAKS):
            return "must be text without control characters"
    return None


def is_blank(text: str) -> bool:
    """Return whether a text is white space and nothing else."""
    return not text.strip()
