"""Headers that mean something: the idempotency key and the language."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from api.errors import IdempotencyKeyInvalid, IdempotencyKeyMissing
from api.headers import idempotency_key, preferred_locale
from skincare.locales import Locale
from tests.support.http import Client, make_app

VISIBLE = "".join(map(chr, range(0x21, 0x7F)))
QUOTABLE = st.text(st.sampled_from(VISIBLE.replace(",", "")), min_size=1, max_size=255)
BARE = QUOTABLE.filter(lambda text: '"' not in text)


def key(text: str) -> str:
    return idempotency_key({"idempotency-key": text})


def quoted(text: str) -> str:
    """As RFC 9651 serialises a string."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


class TestAnIdempotencyKey:
    @given(BARE)
    def test_may_be_bare_or_quoted_and_is_the_same(self, text: str) -> None:
        assert key(text) == key(quoted(text)) == text

    @given(QUOTABLE)
    @example('"')
    @example("\\")
    def test_may_hold_every_visible_character_but_a_comma_when_quoted(self, text: str) -> None:
        assert key(quoted(text)) == text

    @given(QUOTABLE, st.sampled_from([",", " ", "\x00", "\x1f", "\x7f", "é", "\ud800", "\u200b", "١"]), st.data())
    def test_is_refused_with_any_other_character(self, text: str, character: str, data: st.DataObject) -> None:
        at = data.draw(st.integers(0, len(text)))
        spoilt = text[:at] + character + text[at:]
        with pytest.raises(IdempotencyKeyInvalid):
            key(quoted(spoilt))
        with pytest.raises(IdempotencyKeyInvalid):
            key(f"x{spoilt}x")

    @pytest.mark.parametrize("text", ["k-1,k-2", '"k-1","k-2"', '"k-1", "k-2"', "k-1, k-1"])
    def test_that_was_sent_twice_is_no_key(self, text: str) -> None:
        with pytest.raises(IdempotencyKeyInvalid):
            key(text)

    @pytest.mark.parametrize(
        "text", ['"', '""', '"k', 'k"', 'k"k', 'k"k"', '"k"k"', '"\\a"', '"k\\"', "x" * 256, quoted("x" * 256)]
    )
    def test_is_refused_when_it_is_malformed_or_too_long(self, text: str) -> None:
        with pytest.raises(IdempotencyKeyInvalid):
            key(text)

    @pytest.mark.parametrize("headers", [{}, {"idempotency-key": ""}, {"idempotency-key": " \t"}])
    def test_may_be_missing(self, headers: dict[str, str]) -> None:
        with pytest.raises(IdempotencyKeyMissing):
            idempotency_key(headers)

    @given(st.text(st.characters(exclude_categories=[])))
    def test_is_taken_or_refused_and_nothing_else(self, text: str) -> None:
        try:
            taken = key(text)
        except (IdempotencyKeyInvalid, IdempotencyKeyMissing):
            return
        assert set(taken) <= set(VISIBLE) - {","}
        assert 1 <= len(taken) <= 255


class TestACheckoutWithoutAKey:
    @pytest.mark.parametrize(
        ("headers", "code"),
        [
            ({}, "idempotency_key_missing"),
            ({"idempotency-key": ""}, "idempotency_key_missing"),
            ({"idempotency-key": "k-1,k-2"}, "idempotency_key_invalid"),
            ({"idempotency-key": "k\x00"}, "idempotency_key_invalid"),
            ({"idempotency-key": 'k"'}, "idempotency_key_invalid"),
        ],
    )
    def test_is_told_the_name_of_the_header(self, headers: dict[str, str], code: str) -> None:
        answer = Client(make_app(), "user").request("POST", "/v1/orders", body={}, headers=headers)
        assert (answer.status, answer.code) == (400, code)
        assert answer.pointers == ["/headers/idempotency-key"]
        assert "Idempotency-Key" in answer.body["detail"]


class TestTheLanguage:
    @pytest.mark.parametrize(
        ("claim", "accept_language", "expected"),
        [
            (None, "", Locale.ID),
            ("en", "", Locale.EN),
            ("en-GB", "id", Locale.EN),
            ("en_US", "id", Locale.EN),
            ("id-ID", "en", Locale.ID),
            ("fr", "en", Locale.EN),
            (7, "en", Locale.EN),
            (None, "en-US,en;q=0.9,id;q=0.8", Locale.EN),
            (None, "fr, id;q=0.8, en;q=0.7", Locale.ID),
            (None, "fr, id;q=0.7, en;q=0.8", Locale.EN),
            (None, "en;q=0", Locale.ID),
            (None, "id;q=0, en;q=0.1", Locale.EN),
            (None, "in-ID, en;q=0.9", Locale.ID),
            (None, "*, en;q=nonsense", Locale.ID),
            (None, "english", Locale.ID),
        ],
    )
    def test_is_the_tokens_then_the_browsers_then_indonesian(
        self, claim: object, accept_language: str, expected: Locale
    ) -> None:
        assert preferred_locale(claim, accept_language) is expected

    @given(st.one_of(st.none(), st.text()), st.text())
    def test_is_always_one_of_ours(self, claim: object, accept_language: str) -> None:
        assert preferred_locale(claim, accept_language) in Locale

    def test_of_a_very_long_header_is_found_quickly(self) -> None:
        assert preferred_locale(None, "a-" * 5000 + ",en" + ";q=0.1" * 5000 + ",en;q=0.5") is Locale.EN
