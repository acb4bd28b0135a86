"""Amounts as people read and type them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skincare.locales import Locale
from skincare.money import read_rupiah, rupiah


class TestAnAmount:
    @given(st.integers(0, 10**15 - 1), st.sampled_from(Locale))
    def test_can_be_typed_as_it_is_printed(self, amount: int, locale: Locale) -> None:
        assert read_rupiah(rupiah(amount, locale)) == amount
        assert read_rupiah(str(amount)) == amount

    @pytest.mark.parametrize(
        "text",
        [
            "59000",
            "59.000",
            "Rp59.000",
            "Rp 59.000",
            "rp 59000",
            "Rp. 59.000",
            "Rp\u00a059.000",
            "IDR 59,000",
            " 59.000 ",
        ],
    )
    def test_has_many_spellings(self, text: str) -> None:
        assert read_rupiah(text) == 59_000

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "Rp",
            "59,000",
            "59,000.00",
            "59.000,00",
            "59000.00",
            "59.00",
            "59.0000",
            "5.9000",
            "1.5",
            "59.000.",
            ".000",
            "-59000",
            "+59000",
            "5e4",
            "5_9000",
            "59 000",
            "$59",
            "IDR 59.000",
            "Rp 59,000",
            "\u0665\u0669\u0660\u0660\u0660",
            "9" * 16,
            "59000\x00",
        ],
    )
    def test_is_refused_where_it_could_mean_another(self, text: str) -> None:
        with pytest.raises(ValueError, match=r"^must be whole rupiah such as 59000, 59.000 or Rp59.000$"):
            read_rupiah(text)
