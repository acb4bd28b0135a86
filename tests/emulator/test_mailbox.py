import base64
import json
from datetime import UTC, datetime
from email.message import EmailMessage
from pathlib import Path

import pytest

from emulator.aws.mailbox import Mailbox, read_mail


def message(subject: str = "Pesanan SKN-1 ✓") -> bytes:
    mail = EmailMessage()
    mail["To"] = '"A Buyer" <buyer@example.com>'
    mail["Subject"] = subject
    mail.set_content("Rp129.000 – terima kasih\n")
    mail.add_alternative("<p>Rp129.000</p>\n", subtype="html")
    mail.add_attachment(b"%PDF-", maintype="application", subtype="pdf", filename="invoice.pdf")
    return mail.as_bytes()


def request(raw: bytes) -> dict[str, object]:
    content = {"Raw": {"Data": base64.b64encode(raw).decode()}}
    return {"Destination": {"ToAddresses": ["buyer@example.com"]}, "Content": content}


class TestAMail:
    def test_it_is_read_from_its_mime(self) -> None:
        sent_at = datetime(2026, 1, 2, 3, 4, 5, 678_000, tzinfo=UTC)
        assert read_mail(message(), sent_at=sent_at) == {
            "to": "buyer@example.com",
            "subject": "Pesanan SKN-1 ✓",
            "text": "Rp129.000 – terima kasih\n",
            "html": "<p>Rp129.000</p>\n",
            "sent_at": "2026-01-02T03:04:05.678Z",
        }

    def test_a_body_that_it_lacks_is_none(self) -> None:
        mail = read_mail(b"Subject: hello\r\n\r\nworld", sent_at=datetime.now(UTC))
        assert (mail["to"], mail["text"], mail["html"]) == ("", "world", None)


class TestTheMailbox:
    @pytest.fixture
    def mailbox(self, tmp_path: Path) -> Mailbox:
        return Mailbox(tmp_path / "mails.jsonl")

    def test_it_is_empty_at_first(self, mailbox: Mailbox) -> None:
        assert mailbox.newest_first() == []

    def test_the_newest_mail_comes_first_also_after_a_restart(self, mailbox: Mailbox, tmp_path: Path) -> None:
        mailbox.record(request(message("one")))
        mailbox.record(request(message("two")))
        mails = Mailbox(tmp_path / "mails.jsonl").newest_first()
        assert [mail["subject"] for mail in mails] == ["two", "one"]
        assert mails[0].keys() == {"to", "subject", "text", "html", "sent_at"}

    def test_a_mail_is_read_when_somebody_looks(self, mailbox: Mailbox, monkeypatch: pytest.MonkeyPatch) -> None:
        read: list[bytes] = []

        def reader(raw: bytes, *, sent_at: datetime) -> dict[str, str]:
            read.append(raw)
            return {"to": "", "sent_at": sent_at.isoformat()}

        monkeypatch.setattr("emulator.aws.mailbox.read_mail", reader)
        mailbox.record(request(message("unread")))
        assert read == []
        assert [mail["to"] for mail in [*mailbox.newest_first(), *mailbox.newest_first()]] == ["buyer@example.com"] * 2
        assert len(read) == 1

    def test_what_an_earlier_release_wrote_is_shown(self, mailbox: Mailbox, tmp_path: Path) -> None:
        mail = {"to": "a@example.com", "subject": "s", "text": "t", "html": None, "sent_at": "2026-01-02T03:04:05.678Z"}
        (tmp_path / "mails.jsonl").write_text(json.dumps(mail) + "\n")
        assert mailbox.newest_first() == [mail]

    def test_a_line_that_a_kill_cut_off_is_left_out(self, mailbox: Mailbox, tmp_path: Path) -> None:
        mailbox.record(request(message()))
        with (tmp_path / "mails.jsonl").open("a") as file:
            file.write(json.dumps({"to": "x"})[:5])
        assert [mail["to"] for mail in mailbox.newest_first()] == ["buyer@example.com"]

    @pytest.mark.parametrize("line", [b"\xff\xfe", b"5", b"null", b"[]"])
    def test_so_is_a_line_that_is_no_mail(self, mailbox: Mailbox, tmp_path: Path, line: bytes) -> None:
        (tmp_path / "mails.jsonl").write_bytes(line + b"\n")
        mailbox.record(request(message()))
        assert [mail["to"] for mail in mailbox.newest_first()] == ["buyer@example.com"]

    def test_a_line_that_a_kill_cut_off_does_not_swallow_the_next_mail(self, mailbox: Mailbox, tmp_path: Path) -> None:
        mailbox.record(request(message("before")))
        with (tmp_path / "mails.jsonl").open("a") as file:
            file.write('{"to": "bu')
        Mailbox(tmp_path / "mails.jsonl").record(request(message("after")))
        assert [mail["subject"] for mail in mailbox.newest_first()] == ["after", "before"]
