"""What the local SES sent: read from its MIME, kept in a file beside the orders it is about."""

import base64
import contextlib
import email
import json
import threading
from datetime import UTC, datetime
from email import policy
from email.message import EmailMessage
from pathlib import Path
from typing import Any

from emulator.log.lines import LineFile

MAILS = "/_local/mails"
"""Where the local AWS and the gateway show it."""


class Mailbox:
    """All mails that were sent, one JSON object per line of a file."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._lines = LineFile(file)
        self._lock = threading.Lock()

    def record(self, request: dict[str, Any]) -> None:
        """Keep the mail of an accepted SendEmail call (SES API v2) with raw content. Raises OSError."""
        mail = read_mail(base64.b64decode(request["Content"]["Raw"]["Data"]), sent_at=datetime.now(UTC))
        recipients = request.get("Destination", {}).get("ToAddresses") or [mail["to"]]
        mail["to"] = ", ".join(recipients)
        line = json.dumps(mail)
        with self._lock:
            self._lines.append(line)

    def newest_first(self) -> list[dict[str, Any]]:
        """Return the mails as {to, subject, text, html, sent_at}."""
        with self._lock:
            lines = self._file.read_text(errors="replace").splitlines() if self._file.exists() else []
        mails = []
        for line in reversed(lines):
            with contextlib.suppress(ValueError):  # cut off by a kill
                mail = json.loads(line)
                if isinstance(mail, dict):
                    mails.append(mail)
        return mails


def read_mail(raw: bytes, *, sent_at: datetime) -> dict[str, Any]:
    """Return {to, subject, text, html, sent_at} of a MIME message; a body that it lacks is None."""
    message = email.message_from_bytes(raw, policy=policy.default)
    to = message["To"]
    return {
        "to": ", ".join(address.addr_spec for address in to.addresses) if to else "",
        "subject": str(message["Subject"] or ""),
        "text": _body(message, "plain"),
        "html": _body(message, "html"),
        "sent_at": sent_at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
    }


def _body(message: EmailMessage, kind: str) -> str | None:
    part = message.get_body((kind,))
    return str(part.get_content()) if part else None
