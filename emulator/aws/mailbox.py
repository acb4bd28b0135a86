"""What the local SES sent: read from its MIME, kept in a file beside the orders it is about."""

import base64
import email
import json
import threading
from datetime import UTC, datetime
from email import policy
from email.message import EmailMessage
from functools import lru_cache
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
        """Keep the mail of an accepted SendEmail call (SES API v2) with raw content. Raises OSError.

        It is kept as it was sent: reading it takes longer than all else about it, and most are never looked at.
        """
        kept = {
            "raw": request["Content"]["Raw"]["Data"],
            "recipients": request.get("Destination", {}).get("ToAddresses", []),
            "sent_at": datetime.now(UTC).isoformat(timespec="milliseconds"),
        }
        line = json.dumps(kept)
        with self._lock:
            self._lines.append(line)

    def newest_first(self) -> list[dict[str, Any]]:
        """Return the mails as {to, subject, text, html, sent_at}."""
        with self._lock:
            lines = self._file.read_text(errors="replace").splitlines() if self._file.exists() else []
        return [mail for line in reversed(lines) if (mail := _mail_of(line)) is not None]


@lru_cache(maxsize=5000)
def _mail_of(line: str) -> dict[str, Any] | None:
    """Read a line; None for one that a kill cut off. An earlier release wrote what was read of the mail."""
    try:
        kept = json.loads(line)
        if not isinstance(kept, dict) or "raw" not in kept:
            return kept if isinstance(kept, dict) else None
        raw = base64.b64decode(kept["raw"])
    except ValueError:
        return None
    mail = read_mail(raw, sent_at=datetime.fromisoformat(kept["sent_at"]))
    return mail | {"to": ", ".join(kept["recipients"]) or mail["to"]}


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
