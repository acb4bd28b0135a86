"""Text as a document can show it: in the embedded fonts, with a box for what they lack, on lines that fit.

What is read from right to left is left to two libraries, which are packages of the documents worker only and loaded
for the first such text.
"""

import re
import unicodedata
from collections.abc import Callable
from functools import cache
from pathlib import Path

from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.ttfonts import TTFont

from skincare.text import one_line, without_zero_width

_FONTS = Path(__file__).parent / "fonts"

BOX = "\N{WHITE SQUARE}"
"""Stands for each character that a font lacks."""

# The blocks that have right-to-left letters, and the numbers that go with them.
_MAY_TURN = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff\U00010800-\U00010fff\U0001e800-\U0001efff]")

_MIRRORED = dict(zip("()[]{}<>«»", ")(][}{><»«", strict=True))
_BRACKET = f"[{re.escape(''.join(_MIRRORED))}]"
# It is a mark, so it comes to stand before a bracket that was turned, and after any other. No text has it any more.
_PROBE = "\N{COMBINING GRAPHEME JOINER}"
_PROBED = re.compile(f"({_BRACKET}){_PROBE}|{_PROBE}({_BRACKET})")


class Typeface:
    """One font of the documents. `unknown` counts the characters that it had to replace so far."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._font = _registered(name)
        self.unknown = 0

    def width(self, text: str, size: float) -> float:
        """Return how many points a text takes."""
        return float(self._font.stringWidth(text, size))

    def known(self, text: str) -> str:
        """Return a text as one line of characters that this font has.

        Composed, so that a letter and its marks are one glyph, and Arabic letters in their joined forms. What shows
        nothing, such as a joiner of emoji or the selector of a letter's variant, is left out after its effect.
        """
        composed = joined(unicodedata.normalize("NFC", one_line(text)))
        seen = (each for each in without_zero_width(composed) if unicodedata.category(each) != "Cf")
        shown = unicodedata.normalize("NFC", "".join(seen))
        glyphs = self._font.face.charToGlyph
        characters = [each if ord(each) in glyphs else None for each in shown]
        self.unknown += characters.count(None)
        return "".join(each or BOX for each in characters)

    def lines(self, text: str, size: float, width: float) -> list[str]:
        """Return the lines that a text makes within a width, each from left to right as it is to be drawn."""
        lines, line = [], ""
        for word in self.known(text).split():
            longer = f"{line} {word}".strip()
            if self.width(longer, size) <= width:
                line = longer
                continue
            if line:
                lines.append(line)
            *full, line = self._pieces(word, size, width)
            lines += full
        return [from_left_to_right(each) for each in [*lines, line] if each]

    def _pieces(self, word: str, size: float, width: float) -> list[str]:
        """Cut a word that is longer than a line."""
        pieces, free = [""], width
        for character in word:
            takes = self.width(character, size)
            if takes > free and pieces[-1]:
                pieces.append("")
                free = width
            pieces[-1] += character
            free -= takes
        return pieces


def joined(text: str) -> str:
    """Return the text with Arabic letters in the forms that they take beside each other."""
    return _joiner()(text) if _MAY_TURN.search(text) else text


def from_left_to_right(text: str) -> str:
    """Return a line in the order in which its characters stand on paper, brackets mirrored.

    That of the bidirectional algorithm (UAX 9) in a line that itself runs from left to right. Marks of turned letters
    come to stand before them, as the fonts shape them. Mirroring (rule L4) the library leaves to us.
    """
    if not _MAY_TURN.search(text):
        return text
    from bidi import get_display

    shown = get_display(re.sub(_BRACKET, rf"\g<0>{_PROBE}", text), base_dir="L")
    return _PROBED.sub(lambda found: found[1] or _MIRRORED[found[2]], shown)


@cache
def _joiner() -> Callable[[str], str]:
    from arabic_reshaper import ArabicReshaper

    # Vowel signs are part of a name. The one sign for the word Allah would leave out letters of names that begin so.
    options = {"delete_harakat": False, "support_ligatures": True, "ARABIC LIGATURE ALLAH": False}
    joiner: Callable[[str], str] = ArabicReshaper(options).reshape
    return joiner


@cache
def _registered(name: str) -> TTFont:
    font = TTFont(name, str(_FONTS / f"{name}.ttf"))
    pdfmetrics.registerFont(font)
    return font
