"""A mail as bytes: raw MIME, ASCII on the wire.

Sources: RFC 5322 (headers), RFC 2045 to 2047 (parts, encoded words), RFC 3834 (Auto-Submitted).
"""

import re
from datetime import datetime
from email.encoders import encode_base64
from email.header import Header
from email.mime.base import MIMEBase
from email.mime.multipart import MIMEMultipart
from email.mime.text import MIMEText
from email.policy import compat32
from email.utils import format_datetime

from skincare.addresses import EmailAddress, parse_email
from skincare.errors import ConfigurationError, InvalidInput
from skincare.notifications.ports import Attachment, Email, EmailUndeliverable
from skincare.text import one_line

# What may stand in a header unencoded; everything else becomes encoded words.
_PLAIN_NAME = re.compile(r"[A-Za-z0-9]+(?: [A-Za-z0-9]+)*")
_PLAIN_SUBJECT = re.compile(r"[A-Za-z0-9 .,:;!?()#&/-]*")
_LONGEST_PLAIN = 60
_LONGEST_LINE = 75

# The older classes of the standard library: the newer EmailMessage parses each header that it is given, which
# takes three times as long (3.5 ms of CPU a mail) and makes a batch of ten wait for each other.
_POLICY = compat32.clone(linesep="\r\n")
_LINE_END = re.compile(r"\r\n|\r|\n")


def recipient(email: Email) -> EmailAddress:
    """Return the address that the mail goes to; raises `EmailUndeliverable` where it is not one."""
    try:
        return parse_email(email.to)
    except InvalidInput as error:
        raise EmailUndeliverable(f"the recipient's address {error.message}") from None


def raw_message(email: Email, *, sender: EmailAddress, sender_name: str, date: datetime) -> bytes:
    """Return the whole message, with text, HTML and attachments, to exactly one recipient.

    Message-ID is left to the provider. Line breaks and controls in names and subject become spaces. Raises
    `EmailUndeliverable` as `recipient` does, and `ConfigurationError` where answers are to go to no address.
    """
    headers = [
        _mailbox("From", sender_name, sender),
        _mailbox("To", email.to_name or "", recipient(email)),
        f"Subject: {_encoded('Subject', one_line(email.subject), _PLAIN_SUBJECT)}",
        f"Date: {format_datetime(date)}",
        "Auto-Submitted: auto-generated",
    ]
    if email.reply_to is not None:
        headers.insert(1, _mailbox("Reply-To", "", _reply_to(email.reply_to)))
    # Not left to EmailMessage: CPython 3.13.0 drops the quotes of a long name where it folds it, and what was a
    # comma in the name begins a second recipient (python/cpython 80222 and 121284).
    return "".join(f"{header}\r\n" for header in headers).encode("ascii") + _body(email).as_bytes()


def _reply_to(text: str) -> EmailAddress:
    try:
        return parse_email(text)
    except InvalidInput as error:
        raise ConfigurationError(f"the address for answers to mails {error.message}") from None


def _mailbox(header: str, name: str, address: EmailAddress) -> str:
    name = one_line(name)
    if not name:
        return f"{header}: {address}"
    return f"{header}: {_encoded(header, name, _PLAIN_NAME)}\r\n <{address}>"


def _encoded(header: str, text: str, plain: re.Pattern[str]) -> str:
    if len(text) <= _LONGEST_PLAIN and plain.fullmatch(text):
        return text
    return Header(text, "utf-8", header_name=header, maxlinelen=_LONGEST_LINE).encode(linesep="\r\n")


def _body(email: Email) -> MIMEBase:
    body = MIMEMultipart("alternative", policy=_POLICY)
    body.attach(_text("plain", email.text))
    body.attach(_text("html", email.html))
    if not email.attachments:
        return body
    mixed = MIMEMultipart("mixed", policy=_POLICY)
    mixed.attach(body)
    for attachment in email.attachments:
        mixed.attach(_attached(attachment))
    return mixed


def _text(subtype: str, text: str) -> MIMEText:
    """Return the text in base64, which keeps it ASCII; its lines end in CRLF as RFC 2045 (6.8) asks."""
    return MIMEText(_LINE_END.sub("\r\n", text), subtype, "utf-8", policy=_POLICY)


def _attached(attachment: Attachment) -> MIMEBase:
    maintype, _, subtype = attachment.content_type.partition("/")
    part = MIMEBase(maintype, subtype, policy=_POLICY)
    part.set_payload(attachment.content)
    encode_base64(part)
    part.add_header("Content-Disposition", "attachment", filename=one_line(attachment.filename))
    return part
