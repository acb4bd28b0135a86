"""What people type into a search box, read as words. No character of it is an operator."""

import re
import unicodedata

from skincare.identifiers import is_sku

LONGEST = 200
"""Characters that a search may have."""
_MOST_WORDS = 10
_WORD = re.compile(r"[^\W_]+")


def words_of(text: str) -> list[str]:
    """Return the words of a text in lower case, the first ten of them."""
    return _WORD.findall(unicodedata.normalize("NFKC", text).lower())[:_MOST_WORDS]


def code_of(text: str) -> str | None:
    """Return the text as the SKU or barcode that it may be."""
    code = text.strip().upper()
    return code if is_sku(code) else None
