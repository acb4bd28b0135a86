"""A mail as bytes: raw MIME, ASCII on the wire.

Sources: RFC 5322 (headers), RFC 2045 to 2047 (parts, encoded words), RFC 3834 (Auto-Submitted).
"""

import re
from datetime import datetime
from email.header import Header
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime

from skincare.addresses import EmailAddress, parse_email
from skincare.errors import InvalidInput
from skincare.notifications.ports import Email, EmailUndeliverable
from skincare.notifications.text import one_line

# What may stand in a header unencoded; everything else becomes encoded words.
_PLAIN_NAME = re.compile(r"[A-Za-z0-9]+(?: [A-Za-z0-9]+)*")
_PLAIN_SUBJECT = re.compile(r"[A-Za-z0-9 .,:;!?()#&/-]*")
_LONGEST_PLAIN = 60
_LONGEST_LINE = 75


def recipient(email: Email) -> EmailAddress:
    """Return the address that the mail goes to; raises `EmailUndeliverable` where it is not one."""
    try:
        return parse_email(email.to)
    except InvalidInput as error:
        raise EmailUndeliverable(f"the recipient's address {error.message}") from None


def raw_message(email: Email, *, sender: EmailAddress, sender_name: str, date: datetime) -> bytes:
    """Return the whole message, with text, HTML and attachments, to exactly one recipient.

    Message-ID is left to the provider. Line breaks and controls in names and subject become spaces. Raises
    `EmailUndeliverable` as `recipient` does.
    """
    headers = [
        _mailbox("From", sender_name, sender),
        _mailbox("To", email.to_name or "", recipient(email)),
        f"Subject: {_encoded('Subject', one_line(email.subject), _PLAIN_SUBJECT)}",
        f"Date: {format_datetime(date)}",
        "Auto-Submitted: auto-generated",
    ]
    # Headers with people's words in them are not given to EmailMessage: CPython below 3.13.3 drops quotes and
    # encoding where it folds a name, and what was a comma in a name becomes a second recipient (CVE-2025-1795,
    # python/cpython 80222 and 121284).
    return "".join(f"{header}\r\n" for header in headers).encode("ascii") + _body(email).as_bytes()


def _mailbox(header: str, name: str, address: EmailAddress) -> str:
    name = one_line(name)
    if not name:
        return f"{header}: {address}"
    return f"{header}: {_encoded(header, name, _PLAIN_NAME)}\r\n <{address}>"


def _encoded(header: str, text: str, plain: re.Pattern[str]) -> str:
    if len(text) <= _LONGEST_PLAIN and plain.fullmatch(text):
        return text
    return Header(text, "utf-8", header_name=header, maxlinelen=_LONGEST_LINE).encode(linesep="\r\n")


def _body(email: Email) -> EmailMessage:
    body = EmailMessage(policy=SMTP)
    body.set_content(email.text, cte="quoted-printable")
    body.add_alternative(email.html, subtype="html", cte="quoted-printable")
    for attachment in email.attachments:
        maintype, _, subtype = attachment.content_type.partition("/")
        body.add_attachment(
            attachment.content,
            maintype=maintype,
            subtype=subtype,
            filename=one_line(attachment.filename),
        )
    return body
