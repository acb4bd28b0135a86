"""Which addresses are taken, and how they are spelled afterwards."""

import unicodedata

import idna
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from skincare.addresses import parse_email
from skincare.errors import InvalidInput

LOCAL_PARTS = st.from_regex(r"[A-Za-z0-9_+-]{1,20}(\.[A-Za-z0-9_+-]{1,20}){0,2}", fullmatch=True)
LABELS = st.from_regex(r"[a-z0-9]([a-z0-9-]{0,20}[a-z0-9])?", fullmatch=True)
DOMAINS = st.builds(
    lambda labels, tld: ".".join([*labels, tld]), st.lists(LABELS, min_size=1, max_size=3), st.just("id")
)
ADDRESSES = st.builds(lambda local_part, domain: f"{local_part}@{domain}", LOCAL_PARTS, DOMAINS)

# Every kind that is drawn as nothing or as a gap; Hypothesis picks within the categories.
INVISIBLE = st.one_of(
    st.characters(categories=["Cc", "Cf", "Zs", "Zl", "Zp"]),
    st.sampled_from("\u034f\u115f\u1160\u17b4\u17b5\u180b\u3164\ufe00\ufe0f\uffa0\U000e0100\U000e01ef"),
)


class TestAnOrdinaryAddress:
    @given(ADDRESSES)
    def test_is_taken_as_it_is(self, text: str) -> None:
        assert str(parse_email(text)) == text

    def test_keeps_the_case_before_the_at_and_loses_it_after(self) -> None:
        assert str(parse_email("Ani.Lestari+Shop@Example.COM")) == "Ani.Lestari+Shop@example.com"

    def test_stays_out_of_its_own_repr(self) -> None:
        assert repr(parse_email("buyer@example.com")) == "EmailAddress()"


class TestAnInvisibleCharacter:
    @pytest.mark.parametrize(
        "character", ["\u200b", "\u00a0", "\u00ad", "\u202e", "\u2066", "\ufeff", "\x00", "\n", " "]
    )
    def test_is_named_in_the_refusal(self, character: str) -> None:
        with pytest.raises(InvalidInput, match=f"cannot be seen .U.{ord(character):04X}"):
            parse_email(f"ani{character}@example.com")

    @given(ADDRESSES, INVISIBLE, st.data())
    def test_is_refused_wherever_it_stands(self, text: str, character: str, data: st.DataObject) -> None:
        at = data.draw(st.integers(0, len(text)))
        with pytest.raises(InvalidInput, match="cannot be seen"):
            parse_email(text[:at] + character + text[at:])


class TestAnInternationalAddress:
    def test_is_refused_where_the_part_before_the_at_is_not_ascii(self) -> None:
        with pytest.raises(InvalidInput, match="ASCII characters before the @"):
            parse_email("jörg@example.com")

    @given(st.text(st.sampled_from("äñøçéabc"), min_size=1, max_size=20))
    @example("contoh-ñ")
    @example("mu\u0308nchen")
    def test_has_its_domain_in_the_punycode_of_todays_standard(self, label: str) -> None:
        expected = idna.encode(unicodedata.normalize("NFC", f"{label}.example")).decode()
        assert parse_email(f"ani@{label}.example").domain == expected

    def test_may_mix_upper_case_and_scripts(self) -> None:
        assert parse_email("ani@TOKO.例え.example").domain == "toko.xn--r8jz45g.example"

    @pytest.mark.parametrize(
        ("domain", "wire"), [("straße.example", "xn--strae-oqa.example"), ("ς.example", "xn--3xa.example")]
    )
    def test_keeps_letters_that_the_older_standard_turned_into_others(self, domain: str, wire: str) -> None:
        assert parse_email(f"ani@{domain}").domain == wire

    @pytest.mark.parametrize("domain", ["ｅxample.com", "例え。example.com", "ﬁ.example", "🌸.example"])
    def test_is_refused_where_encoding_would_lead_to_another_domain(self, domain: str) -> None:
        with pytest.raises(InvalidInput):
            parse_email(f"ani@{domain}")

    def test_may_be_given_in_punycode(self) -> None:
        assert parse_email("ani@xn--strae-oqa.example").domain == "xn--strae-oqa.example"


class TestAMalformedAddress:
    @pytest.mark.parametrize(
        "text",
        [
            "",
            "ani",
            "@",
            "@example.com",
            "ani@",
            "ani@@example.com",
            "ani@example.com@example.com",
            "ani@example.com,x@example.com",
            "ani@localhost",
            "ani@127.0.0.1",
            "ani@[127.0.0.1]",
            "ani@example.com.",
            "ani@.example.com",
            "ani@exa_mple.com",
            "ani@-example.com",
            "ani@example-.com",
            ".ani@example.com",
            "ani.@example.com",
            "a..ni@example.com",
            "ani<x>@example.com",
            '"ani"@example.com',
            "Ani<ani@example.com>",
            "ani@" + "a" * 64 + ".com",
            "ani@ñ" + "ñ" * 62 + ".com",
            "ani@\U0001f338_.example",
        ],
    )
    def test_is_refused(self, text: str) -> None:
        with pytest.raises(InvalidInput) as refused:
            parse_email(text)
        assert refused.value.field == "email"

    def test_may_be_as_long_as_the_standard_allows_and_no_longer(self) -> None:
        domain = ".".join(["a" * 61] * 3)  # 185
        assert parse_email("x" * 64 + f"@{domain}.id").local_part == "x" * 64
        with pytest.raises(InvalidInput, match="at most 64"):
            parse_email("x" * 65 + f"@{domain}.id")
        assert len(str(parse_email("x" * 64 + f"@abc.{domain}"))) == 254
        with pytest.raises(InvalidInput, match="at most 254"):
            parse_email("x" * 64 + f"@abcd.{domain}")
        with pytest.raises(InvalidInput, match="at most 253"):
            parse_email("x@" + "a." * 126 + "com")

    @given(st.one_of(st.text(), st.builds("{}@{}".format, st.text(), st.text())))
    def test_never_fails_in_another_way_and_what_is_taken_is_safe_on_the_wire(self, text: str) -> None:
        try:
            wire = str(parse_email(text))
        except InvalidInput:
            return
        assert wire.isascii()
        assert wire.isprintable()
        assert " " not in wire
        assert len(wire) <= 254
        assert str(parse_email(wire)) == wire

    @pytest.mark.parametrize(
        "text",
        [
            "canary",
            "canary@canary@example.com",
            "canary\u200b@example.com",
            "jörg-canary@example.com",
            "canary.@example.com",
            "canary" * 11 + "@example.com",
            "ani@canary",
            "ani@canary-🌸.example",
            "ani@canary" + "ñ" * 60 + ".example",
            "canary@" + "canary." * 40 + "example",
            "canary" * 10 + "@" + ".".join(["canary" * 10] * 4),
        ],
    )
    def test_is_never_quoted_in_the_refusal(self, text: str) -> None:
        with pytest.raises(InvalidInput) as refused:
            parse_email(text)
        assert "canary" not in str(refused.value)
