"""What every sender of mail promises: the fake of the tests, and SES as moto plays it."""

import base64
import email
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta
from email.header import decode_header, make_header
from email.message import EmailMessage
from email.policy import default
from email.utils import getaddresses, parsedate_to_datetime

import pytest
from moto.core.models import DEFAULT_ACCOUNT_ID
from moto.ses.models import ses_backends

from skincare.adapters.aws import AwsSession
from skincare.adapters.ses import SesEmailSender
from skincare.notifications.ports import (
    Attachment,
    Email,
    EmailSender,
    EmailSendingStopped,
    EmailUndeliverable,
)
from tests.fakes.email import FakeEmailSender
from tests.support.aws import LONG_TIMEOUTS

REGION = "ap-southeast-3"


@dataclass(frozen=True)
class Mailbox:
    """A sender, and the raw messages that arrived through it, oldest first."""

    sender: EmailSender
    raw: Callable[[], list[bytes]]

    def only(self) -> "Received":
        (message,) = self.raw()
        return Received(message)


class Received:
    """A message as a mail program reads it: structure first, then the encoded words."""

    def __init__(self, raw: bytes) -> None:
        self.raw = raw
        self.headers = email.message_from_bytes(raw)
        parsed = email.message_from_bytes(raw, policy=default)
        assert isinstance(parsed, EmailMessage)
        self._parsed = parsed

    def mailboxes(self, header: str) -> list[tuple[str, str]]:
        """Return the name and the address of everybody whom a header names."""
        values = [str(value) for value in self.headers.get_all(header, [])]
        return [(str(make_header(decode_header(name))), address) for name, address in getaddresses(values)]

    @property
    def subject(self) -> str:
        return str(make_header(decode_header(self.headers["Subject"])))

    def body(self, kind: str) -> str:
        part = self._parsed.get_body((kind,))
        assert part is not None
        return str(part.get_content()).replace("\r\n", "\n")

    def attachments(self) -> list[tuple[str | None, str, bytes]]:
        return [(p.get_filename(), p.get_content_type(), p.get_content()) for p in self._parsed.iter_attachments()]


def make_email(**changes: object) -> Email:
    fields: dict[str, object] = {
        "to": "buyer@example.com",
        "to_name": "Ani",
        "subject": "Pesanan SKN-7K3QF-02MPX sudah kami terima",
        "text": "Halo Ani,\n\nTotal: Rp150.000\n",
        "html": "<p>Halo Ani, total Rp150.000</p>\n",
    }
    return Email(**(fields | changes))  # type: ignore[arg-type]


def fake_mailbox() -> Mailbox:
    fake = FakeEmailSender()
    return Mailbox(fake, lambda: list(fake.raw))


def ses_mailbox(aws: AwsSession) -> Mailbox:
    """SES with a verified sender of its own, so that tests do not read each other's mail."""
    address = f"orders-{uuid.uuid4()}@example.com"
    aws.client("sesv2", LONG_TIMEOUTS).create_email_identity(EmailIdentity=address)
    backend = ses_backends[DEFAULT_ACCOUNT_ID][REGION]

    def raw() -> list[bytes]:
        return [message.raw_data.encode() for message in backend.sent_messages if message.source == address]

    return Mailbox(SesEmailSender(f"Shop <{address}>", aws=aws), raw)


@pytest.fixture(params=["fake", "ses"])
def mailbox(request: pytest.FixtureRequest) -> Mailbox:
    if request.param == "fake":
        return fake_mailbox()
    return ses_mailbox(request.getfixturevalue("aws"))


class TestEverySender:
    def test_returns_an_id_of_its_own_for_each_mail(self, mailbox: Mailbox) -> None:
        ids = {mailbox.sender.send(make_email()) for _ in range(3)}
        assert len(ids) == 3
        assert all(ids)

    def test_delivers_the_mail_complete(self, mailbox: Mailbox) -> None:
        pdf = Attachment("Faktur “SKN” 🌸.pdf", "application/pdf", b"%PDF-1.7\x00\xff\r\n")
        sent = make_email(html="<p>Halo مريم 🌸</p>\n", attachments=(pdf,))
        mailbox.sender.send(sent)
        received = mailbox.only()
        assert received.mailboxes("To") == [("Ani", "buyer@example.com")]
        assert [name for name, _ in received.mailboxes("From")] == ["Shop"]
        assert received.subject == sent.subject
        assert received.body("plain") == sent.text
        assert received.body("html") == sent.html
        assert received.attachments() == [(pdf.filename, "application/pdf", pdf.content)]

    def test_writes_ascii_lines_that_smtp_can_carry_and_a_date(self, mailbox: Mailbox) -> None:
        mailbox.sender.send(make_email(text="ñ" * 5000 + "\n", html="<p>" + "x" * 5000 + "</p>\n", to_name="ñ" * 200))
        received = mailbox.only()
        assert received.raw.isascii()
        assert max(map(len, received.raw.split(b"\r\n"))) <= 998
        assert received.body("plain") == "ñ" * 5000 + "\n"
        assert parsedate_to_datetime(received.headers["Date"]).utcoffset() == timedelta(0)
        assert "Message-ID" not in received.headers

    def test_a_mail_without_a_name_goes_to_the_bare_address(self, mailbox: Mailbox) -> None:
        mailbox.sender.send(make_email(to_name=None))
        assert mailbox.only().mailboxes("To") == [("", "buyer@example.com")]

    @pytest.mark.parametrize(
        "address",
        ["jörg@example.com", "ani\u200b@example.com", "ani\r\nBcc: x@example.com", "ani", "", "a@b@example.com"],
    )
    def test_refuses_an_address_that_nobody_can_have_and_sends_nothing(self, mailbox: Mailbox, address: str) -> None:
        with pytest.raises(EmailUndeliverable) as refused:
            mailbox.sender.send(make_email(to=address))
        assert mailbox.raw() == []
        assert not address or address not in str(refused.value)

    @pytest.mark.parametrize(
        ("address", "wire"),
        [
            ("ani@contoh-ñ.example", "ani@xn--contoh--b0a.example"),
            ("ani@TOKO.例え.example", "ani@toko.xn--r8jz45g.example"),
        ],
    )
    def test_writes_an_international_domain_in_punycode(self, mailbox: Mailbox, address: str, wire: str) -> None:
        mailbox.sender.send(make_email(to=address))
        assert mailbox.only().mailboxes("To") == [("Ani", wire)]

    @pytest.mark.parametrize(
        "name",
        [
            'Siti 🌸, "CEO"',
            "Ani, evil@example.com",
            '"Ani" <evil@example.com>',
            "Ani\\",
            "=?utf-8?q?Ani?=",
            "مريم " * 39 + "مريم",
            "Very Long Name, (With) Specials; " * 6 + "end",
            "👩‍👩‍👧" * 40,
        ],
    )
    def test_a_name_stays_one_name_of_one_recipient(self, mailbox: Mailbox, name: str) -> None:
        mailbox.sender.send(make_email(to_name=name))
        assert mailbox.only().mailboxes("To") == [(name, "buyer@example.com")]

    @pytest.mark.parametrize("breaker", ["\r\n", "\n", "\r", "\x00", "\u2028", "\x85", "\r\n ", "\x0b"])
    def test_a_line_break_in_a_name_or_subject_begins_no_header(self, mailbox: Mailbox, breaker: str) -> None:
        poisoned = f"Ani{breaker}Bcc: evil@example.com"
        mailbox.sender.send(make_email(to_name=poisoned, subject=poisoned))
        received = mailbox.only()
        assert received.headers["Bcc"] is None
        assert received.mailboxes("To") == [("Ani Bcc: evil@example.com", "buyer@example.com")]
        assert received.subject == "Ani Bcc: evil@example.com"

    def test_serves_many_threads_at_once(self, mailbox: Mailbox) -> None:
        with ThreadPoolExecutor(10) as pool:
            ids = set(pool.map(lambda n: mailbox.sender.send(make_email(subject=f"Mail {n}")), range(20)))
        assert len(ids) == 20
        assert {Received(raw).subject for raw in mailbox.raw()} == {f"Mail {n}" for n in range(20)}


class TestSesOnMoto:
    def test_a_sender_that_nobody_verified_stops_all_mail_and_drops_none(self, aws: AwsSession) -> None:
        sender = SesEmailSender("Shop <nobody@unverified.example>", aws=aws)
        with pytest.raises(EmailSendingStopped, match=r"MessageRejected .*the sender is not verified"):
            sender.send(make_email())

    def test_moto_keeps_the_bytes_as_they_were_sent(self, aws: AwsSession) -> None:
        """The other tests rest on it."""
        mailbox = ses_mailbox(aws)
        mailbox.sender.send(make_email(attachments=(Attachment("a.bin", "application/octet-stream", bytes(256)),)))
        assert base64.encodebytes(bytes(256)).split(b"\n")[0] in mailbox.only().raw
