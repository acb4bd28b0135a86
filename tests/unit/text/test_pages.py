"""Cursor lists: where a page ends and what leads to the next one."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skincare.errors import InvalidInput
from skincare.pages import Page, decode_cursor, encode_cursor, page_of

KEYS = st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E), min_size=1, max_size=60)


class TestACursor:
    @given(KEYS)
    def test_leads_back_to_its_key(self, key: str) -> None:
        assert decode_cursor(encode_cursor(key)) == key

    @given(KEYS)
    def test_fits_into_a_url_as_it_is(self, key: str) -> None:
        assert encode_cursor(key).replace("-", "").replace("_", "").isalnum()

    @given(st.text(st.characters(exclude_categories=[])))
    def test_of_somebody_elses_making_is_refused_or_is_ours(self, text: str) -> None:
        with contextlib.suppress(InvalidInput):
            assert encode_cursor(decode_cursor(text)) == text


class TestAPage:
    @given(st.lists(KEYS, unique=True), st.integers(1, 20))
    def test_after_page_shows_everything_once(self, keys: list[str], limit: int) -> None:
        keys.sort()
        seen: list[str] = []
        cursor: str | None = None
        while True:
            after = "" if cursor is None else decode_cursor(cursor)
            found = [key for key in keys if key > after][: limit + 1]
            page = page_of(found, limit=limit, key=str)
            seen += page.data
            if not page.has_more:
                break
            assert len(page.data) == limit
            cursor = page.next_cursor
        assert seen == keys

    def test_is_the_last_one_where_nothing_follows(self) -> None:
        assert page_of(["a", "b"], limit=2, key=str) == Page(("a", "b"), None)
        assert not page_of([], limit=1, key=str).has_more

    @pytest.mark.parametrize("limit", [1, 2])
    def test_says_so_where_something_follows(self, limit: int) -> None:
        assert page_of(["a", "b", "c"], limit=limit, key=str).has_more
