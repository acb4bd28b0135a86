"""What new identifiers look like."""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skincare.identifiers import ORDER_NUMBER_PATTERN, new_order_number, read_order_number, uuid7


class TestOrderNumber:
    def test_is_readable_and_has_no_letter_that_is_heard_wrong(self) -> None:
        numbers = [new_order_number() for _ in range(1000)]
        assert all(re.fullmatch("SKN-[0-9A-HJKMNP-TV-Z]{5}-[0-9A-HJKMNP-TV-Z]{5}", number) for number in numbers)
        assert len(set(numbers)) == len(numbers)

    def test_uses_every_letter_at_every_place(self) -> None:
        numbers = [new_order_number().replace("-", "")[3:] for _ in range(2000)]
        assert {len(set(letters)) for letters in zip(*numbers, strict=True)} == {32}

    def test_fits_its_pattern(self) -> None:
        assert all(re.search(ORDER_NUMBER_PATTERN, new_order_number()) for _ in range(1000))


ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
HEARD_AS = {"0": "0Oo", "1": "1IiLl"}
SEPARATORS = st.text(" -\u2010\u2011\u2013\u2014\u2212\u00a0\t\n", max_size=2)


@st.composite
def heard(draw: st.DrawFn) -> tuple[str, str]:
    """An order number, and one of the ways in which it may come over the phone."""
    letters = draw(st.text(ALPHABET, min_size=10, max_size=10))
    spoken = draw(st.sampled_from(["SKN", "skn", "Skn", ""]))
    said = [draw(st.sampled_from(HEARD_AS.get(letter, letter + letter.lower()))) for letter in letters]
    return f"SKN-{letters[:5]}-{letters[5:]}", "".join(draw(SEPARATORS) + each for each in [*spoken, *said, ""])


class TestAnOrderNumberThatIsSpoken:
    @given(heard())
    def test_is_found_however_it_was_heard(self, number: tuple[str, str]) -> None:
        written, said = number
        assert read_order_number(said) == written

    @given(st.text(ALPHABET, min_size=10, max_size=10))
    def test_is_itself_as_it_is_written(self, letters: str) -> None:
        number = f"SKN-{letters[:5]}-{letters[5:]}"
        assert read_order_number(number) == number

    def test_may_begin_with_the_prefix_a_second_time(self) -> None:
        assert read_order_number("SKN-SKNAB-CDEFG") == read_order_number("sknabcdefg") == "SKN-SKNAB-CDEFG"

    @given(st.text() | st.text("SKNskn-OIL01ABCDEU ", max_size=16))
    def test_is_read_from_any_text_as_a_number_or_not_at_all(self, text: str) -> None:
        try:
            read = read_order_number(text)
        except ValueError:
            return
        assert re.fullmatch(ORDER_NUMBER_PATTERN, read)
        assert read_order_number(read) == read

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "-1",
            "1e3",
            " 7",
            "SKN",
            "SKN-4T9QX-0M7K",
            "SKN-4T9QX-0M7KDD",
            "XKN-4T9QX-0M7KD",
            "SKN-4T9QX-0M7KU",
            "SKN-4T9QX-0M7K\u0664",
            "SKN-4T9QX-0M7K\uff24",
            "SKN-4T9QX-0M7K\u0131",
            "SKN-4T9QX-0M7KD\x00",
            "SKN-4T9QX-0M7KD\u202e",
            "SKN/4T9QX/0M7KD",
        ],
    )
    def test_is_nothing_else(self, text: str) -> None:
        with pytest.raises(ValueError, match="must be an order number such as"):
            read_order_number(text)


class TestUuid7:
    def test_has_the_version_and_the_variant_of_rfc_9562(self) -> None:
        made = [uuid7() for _ in range(100)]
        assert {each.version for each in made} == {7}
        assert {each.variant for each in made} == {"specified in RFC 4122"}

    def test_starts_with_the_milliseconds_of_now(self) -> None:
        before = time.time_ns() // 1_000_000
        milliseconds = uuid7().int >> 80
        assert before <= milliseconds <= time.time_ns() // 1_000_000

    def test_of_later_is_greater_also_within_a_millisecond(self, monkeypatch: pytest.MonkeyPatch) -> None:
        moments = iter(range(1_796_083_199_998_000_000, 1_796_083_200_001_000_000, 1_000))
        monkeypatch.setattr(time, "time_ns", lambda: next(moments))
        made = [uuid7() for _ in range(3_000)]
        assert made == sorted(made)
        assert len(set(made)) == len(made)
