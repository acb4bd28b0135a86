"""Text that people send us: what of it can be stored, logged and printed."""

import unicodedata

_LINE_BREAKS = {"\n", "\r"}

ONE_LINE_PATTERN = r"^[^\x00-\x1f\x7f-\x9f]*$"
LINES_PATTERN = r"^[^\x00-\x09\x0b\x0c\x0e-\x1f\x7f-\x9f]*$"
"""What `flaw` allows, without and with `lines`, for readers of a JSON Schema: JSON text has no half surrogate pairs."""


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
