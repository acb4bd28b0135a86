"""Text of people and gateways: what is taken, what is refused, and what is printed."""

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skincare.text import (
    FILLED_LINE_PATTERN,
    FILLED_LINES_PATTERN,
    ONE_LINE_PATTERN,
    escaped,
    filled_line,
    filled_lines,
    flaw,
    is_blank,
    lines,
    one_line,
)

# But what fills whole planes with the same: ideographs, what is not assigned and private use.
_PLANES_ENDS = [plane + code for plane in range(0x20000, 0x110000, 0x10000) for code in (0, 1, 0xFFFD, 0xFFFE, 0xFFFF)]
EVERY_CHARACTER = [chr(code) for code in sorted({*range(0x20000), *range(0xE0000, 0xE2000), *_PLANES_ENDS})]

NAMES = [
    "Ani",
    "O'Neill",
    "Jean-Luc",
    "D’Souza",
    "María-José Ñúñez",
    unicodedata.normalize("NFD", "Nguyễn Thị Ánh"),
    "مريم",
    "عبد\u200cالله",  # ZWNJ
    "دانه\u200cهای",
    "\u200fשרה לוי\u200f",
    "क्‍ष",  # ZWJ
    "ශ්‍රී",
    "สมชาย\u200bใจดี",  # Thai breaks its lines at ZWSP
    "葛\U000e0100城",  # the variant of a family name
    "测试",
    "👩‍👩‍👧 🌸",
    "❤️",
    "1️⃣",
    "🇮🇩",
    "👍🏽",
    "5",
    "\U0001fae9",  # newer than this Python
]

REFUSED = {
    "controls": "\x00\x07\t\x1b\x7f\x85\x9b",
    "line separators": "\u2028\u2029",
    "what turns the direction": "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069",
    "deprecated controls": "\u206a\u206f\ufff9\ufffb",
    "noncharacters": "\ufdd0\ufdef\ufffe\uffff\U0001fffe\U0010ffff",
    "tags": "\U000e0001\U000e0020\U000e0041\U000e007f",
    "half surrogate pairs": "\ud800\udbff\udc00\udfff",
}

NOTHING = [
    "",
    " ",
    "\u00a0\u2003\u3000",
    "\u200b",
    "\u200c\u200d\u2060\ufeff",
    "\u200e\u200f\u061c",
    "\u00ad",
    "\u3164",
    "\u115f\u1160\uffa0",
    "\u2800",
    "\u0301",
    "\ufe0f",
    "\u0e34",
    "\u093e",
    "\u034f\u180e",
    " \u200b \u0301 ",
]


class TestARealName:
    @pytest.mark.parametrize("name", NAMES)
    def test_is_taken_and_printed_as_it_is(self, name: str) -> None:
        assert filled_line(name) == name
        assert re.search(FILLED_LINE_PATTERN, name)
        assert one_line(name) == name


class TestACharacter:
    @pytest.mark.parametrize("kind", REFUSED)
    def test_that_acts_unseen_is_refused_wherever_it_stands(self, kind: str) -> None:
        for character in REFUSED[kind]:
            for text in (character, f"Ani{character}", f"{character}Ani", f"A{character}ni"):
                with pytest.raises(ValueError, match="must be text without"):
                    filled_line(text)
                with pytest.raises(ValueError, match="must be text without"):
                    filled_lines(text)

    def test_of_every_category_is_judged_by_what_it_does(self) -> None:
        refused = {character for character in EVERY_CHARACTER if flaw(character)}
        by_category: dict[str, set[str]] = {}
        for character in refused:
            by_category.setdefault(unicodedata.category(character), set()).add(character)
        assert set(by_category) == {"Cc", "Cf", "Cn", "Cs", "Zl", "Zp"}
        assert len(by_category["Cc"]) == 65
        assert len(by_category["Cs"]) == 2048
        # Of what is not assigned: noncharacters, and what is reserved to be drawn as nothing.
        assert {
            c for c in by_category["Cn"] if not 0xE0000 <= ord(c) <= 0xE0FFF and not 0xFFF0 <= ord(c) <= 0xFFF8
        } == {c for c in EVERY_CHARACTER if 0xFDD0 <= ord(c) <= 0xFDEF or ord(c) & 0xFFFE == 0xFFFE} | {"\u2065"}

    def test_breaks_a_line_only_where_there_are_lines(self) -> None:
        assert filled_lines("Jl. Melati 5\r\nBandung") == "Jl. Melati 5\r\nBandung"
        assert [c for c in EVERY_CHARACTER if flaw(c) and not flaw(c, lines=True)] == ["\n", "\r"]
        assert {c for c in EVERY_CHARACTER if len(f"a{c}b".splitlines()) > 1 and not flaw(c)} == set()


class TestATextThatShowsNothing:
    @pytest.mark.parametrize("text", NOTHING)
    def test_is_refused(self, text: str) -> None:
        for check in (filled_line, filled_lines):
            with pytest.raises(ValueError, match=r"^must not be blank$"):
                check(text)

    @pytest.mark.parametrize("text", NOTHING)
    def test_is_printed_as_nothing(self, text: str) -> None:
        assert one_line(text) == ""
        assert lines(f"Ani\n{text}\nJakarta") == ["Ani", "Jakarta"]

    def test_is_made_of_all_that_has_no_glyph_of_its_own(self) -> None:
        glyphless = {"Zs", "Mn", "Mc", "Me"}
        assert [c for c in EVERY_CHARACTER if unicodedata.category(c) in glyphless and not is_blank(c)] == []
        shown = {"Lu", "Ll", "Lt", "Nd", "Nl", "No", "Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po", "Sm", "Sc", "Sk"}
        assert [c for c in EVERY_CHARACTER if unicodedata.category(c) in shown and is_blank(c)] == []


class TestAPattern:
    """What is published says the same as the check; `$` is written as JSON Schema means it."""

    def test_of_a_line_agrees_about_every_character(self) -> None:
        pattern = re.compile(ONE_LINE_PATTERN.removesuffix("$") + r"\Z")
        halves = {chr(code) for code in range(0xD800, 0xE000)}
        for character in EVERY_CHARACTER:
            if character not in halves:
                assert (pattern.search(character) is not None) == (flaw(character) is None), f"U+{ord(character):04X}"

    @pytest.mark.parametrize(("published", "lines"), [(FILLED_LINE_PATTERN, False), (FILLED_LINES_PATTERN, True)])
    def test_of_a_field_agrees_about_every_character_but_rare_marks(self, published: str, lines: bool) -> None:
        pattern = re.compile(published.removesuffix("$") + r"\Z")
        for character in EVERY_CHARACTER:
            category = unicodedata.category(character)
            taken = flaw(character, lines=lines) is None and not is_blank(character)
            if category != "Cs" and category[0] != "M":
                assert (pattern.search(character) is not None) == taken, f"U+{ord(character):04X}"
                assert (pattern.search(f"a{character}b") is None) == (flaw(character, lines=lines) is not None)

    @given(st.text(st.sampled_from("a \n\u0301\u200b\u202e\u3164\U000e0041م")))
    def test_of_a_field_agrees_about_texts(self, text: str) -> None:
        for published, check in ((FILLED_LINE_PATTERN, filled_line), (FILLED_LINES_PATTERN, filled_lines)):
            try:
                taken = check(text) == text
            except ValueError:
                taken = False
            assert (re.search(published.removesuffix("$") + r"\Z", text) is not None) == taken


class TestWhatIsPrinted:
    @given(st.text(st.characters(exclude_categories=[])))
    def test_in_a_mail_is_one_line_that_the_rule_would_take(self, text: str) -> None:
        printed = one_line(text)
        assert flaw(printed) is None
        assert one_line(printed) == printed
        assert printed == "" or not is_blank(printed)

    @given(st.text(st.characters(exclude_categories=[])))
    def test_on_a_screen_has_no_character_that_acts_unseen_and_loses_none(self, text: str) -> None:
        printed = escaped(text)
        assert flaw(printed) is None
        assert not re.search("[\u200b-\u200f\ufeff\u3164]", printed)
        if "\\" not in text:
            read = re.sub(r"\\u([0-9a-f]{4})|\\U([0-9a-f]{8})", lambda m: chr(int(m[1] or m[2], 16)), printed)
            assert read == text

    def test_on_a_screen_can_be_told_apart(self) -> None:
        assert escaped("tx\u200b1 \x1b[31m\u202e\U000e0041") == r"tx\u200b1 \u001b[31m\u202e\U000e0041"
