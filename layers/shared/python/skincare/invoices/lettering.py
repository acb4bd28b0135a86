"""Text as a document can show it: in the embedded fonts, with a box for what they lack, on lines that fit."""

import unicodedata
from functools import cache
from pathlib import Path

from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.ttfonts import TTFont

from skincare.text import one_line, without_zero_width

_FONTS = Path(__file__).parent / "fonts"

BOX = "\N{WHITE SQUARE}"
"""Stands for each character that a font lacks."""

_RIGHT_TO_LEFT = frozenset({"R", "AL"})
_NUMBERS = frozenset({"EN", "AN"})
_TURNED = _RIGHT_TO_LEFT | _NUMBERS | {"NSM"}


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

        Composed, so that a letter and its marks are one glyph; what shows nothing, such as a joiner of
        emoji or the selector of a letter's variant, is left out.
        """
        seen = (each for each in without_zero_width(one_line(text)) if unicodedata.category(each) != "Cf")
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


def from_left_to_right(text: str) -> str:
    """Return a line in the order in which its characters stand on paper: right-to-left words are turned round.

    Of the bidirectional algorithm (UAX 9) this is what names need: the line itself runs from left to right, a
    number keeps its inner order, and what stands between right-to-left words or numbers after them is turned
    with them. Arabic letters are not joined.
    """
    kinds = [unicodedata.bidirectional(each) for each in text]
    line, start = "", 0
    while start < len(text):
        end = start
        if kinds[start] in _RIGHT_TO_LEFT:
            for position in range(start, len(text)):
                if kinds[position] == "L":
                    break
                if kinds[position] in _TURNED:
                    end = position
            line += "".join(reversed(_units(text[start : end + 1])))
        else:
            line += text[start]
        start = end + 1
    return line


def _units(text: str) -> list[str]:
    """Split a right-to-left stretch into what keeps its inner order: numbers, and letters with their marks."""
    units: list[str] = []
    for character in text:
        kind = unicodedata.bidirectional(character)
        is_number = kind in _NUMBERS and bool(units) and units[-1][-1].isdigit()
        if units and (kind == "NSM" or is_number):
            units[-1] += character
        else:
            units.append(_MIRRORED.get(character, character))
    return units


_MIRRORED = dict(zip("()[]{}<>«»", ")(][}{><»«", strict=True))


@cache
def _registered(name: str) -> TTFont:
    font = TTFont(name, str(_FONTS / f"{name}.ttf"))
    pdfmetrics.registerFont(font)
    return font
