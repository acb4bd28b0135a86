"""The bytes of a mail, whatever people typed into it."""

import email
import re
from datetime import UTC, datetime
from email.header import decode_header, make_header
from email.utils import getaddresses

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from skincare.adapters.mime import raw_message
from skincare.addresses import parse_email
from skincare.errors import ConfigurationError
from skincare.notifications.ports import Email
from skincare.text import one_line

SENDER = parse_email("orders@example.com")
TYPED = st.text(st.characters(codec="utf-8"), max_size=200)


def message(
    *,
    name: str = "Ani",
    subject: str = "Pesanan",
    sender_name: str = "Shop",
    text: str = "t\n",
    reply_to: str | None = None,
) -> email.message.Message:
    mail = Email(to="buyer@example.com", to_name=name, subject=subject, text=text, html="<p>h</p>\n", reply_to=reply_to)
    raw = raw_message(mail, sender=SENDER, sender_name=sender_name, date=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC))
    assert raw.isascii()
    assert max(map(len, raw.split(b"\r\n"))) <= 78
    assert b"\n" not in raw.replace(b"\r\n", b"")
    return email.message_from_bytes(raw)


def decoded(value: str) -> str:
    return str(make_header(decode_header(value)))


class TestHeaders:
    def test_are_these_and_no_others(self) -> None:
        headers = message()
        assert headers.keys() == ["From", "To", "Subject", "Date", "Auto-Submitted", "Content-Type", "MIME-Version"]
        assert headers["Date"] == "Fri, 02 Jan 2026 03:04:05 +0000"

    def test_name_where_answers_go_if_somebody_said_so(self) -> None:
        assert message(reply_to="help@example.com")["Reply-To"] == "help@example.com"
        assert "Reply-To" not in message()

    @pytest.mark.parametrize(
        "address", ["help", "a@example.com\r\nBcc: evil@example.com", "a@example.com, b@example.com"]
    )
    def test_refuse_a_setting_that_is_no_address_and_do_not_repeat_it(self, address: str) -> None:
        with pytest.raises(ConfigurationError) as caught:
            message(reply_to=address)
        assert address not in str(caught.value)

    def test_stay_readable_where_they_can(self) -> None:
        headers = message(name="Ani Lestari", subject="Order SKN-7K3QF-02MPX received")
        assert headers["To"].split() == ["Ani", "Lestari", "<buyer@example.com>"]
        assert headers["Subject"] == "Order SKN-7K3QF-02MPX received"

    @given(name=TYPED, subject=TYPED, sender_name=TYPED)
    @example(name='Siti 🌸, "CEO"', subject="=?utf-8?q?x?=", sender_name="a@b.example, c")
    @example(name="x\r\n\r\n<h1>", subject="x\r\nTo: evil@example.com", sender_name="\x00")
    @example(name="a" * 200, subject="b " * 100, sender_name="ñ" * 200)
    def test_say_what_was_typed_on_one_line_to_one_recipient(self, name: str, subject: str, sender_name: str) -> None:
        headers = message(name=name, subject=subject, sender_name=sender_name)
        assert headers.keys().count("To") == 1
        assert headers.keys().count("Bcc") == 0
        [(to_name, to)] = getaddresses([headers["To"]])
        [(from_name, sender)] = getaddresses([headers["From"]])
        assert (to, sender) == ("buyer@example.com", "orders@example.com")
        assert decoded(to_name) == one_line(name)
        assert decoded(from_name) == one_line(sender_name)
        assert decoded(headers["Subject"]) == one_line(subject)


class TestTheText:
    @given(TYPED)
    @example("one\ntwo\r\nthree\rfour\u2028still four\n.\nFrom here\n--\n")
    def test_arrives_as_it_was_with_its_lines_ended_as_mail_asks(self, text: str) -> None:
        part = message(text=text).get_payload(0)
        assert isinstance(part, email.message.Message)
        arrived = part.get_payload(decode=True)
        assert isinstance(arrived, bytes)
        assert arrived.decode().split("\r\n") == re.split("\r\n|\r|\n", text)
