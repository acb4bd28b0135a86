"""A mail provider in memory."""

import threading
from collections import deque
from datetime import UTC, datetime

from skincare.adapters.mime import raw_message
from skincare.addresses import parse_email
from skincare.notifications.ports import Email

_SENDER = parse_email("orders@example.com")


class FakeEmailSender:
    """An `EmailSender` that keeps what it is given, and fails when told to.

    It writes the same MIME as the real one, and so refuses what that refuses.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._failures: deque[Exception] = deque()
        self._outage: Exception | None = None
        self.sent: list[Email] = []
        self.raw: list[bytes] = []
        """The messages of `sent` as they would go over the wire."""

    def send(self, email: Email) -> str:
        with self._lock:
            if self._failures:
                raise self._failures.popleft()
            if self._outage is not None:
                raise self._outage
            self.raw.append(raw_message(email, sender=_SENDER, sender_name="Shop", date=datetime.now(UTC)))
            self.sent.append(email)
            return f"fake-{len(self.sent)}"

    def fail_next(self, error: Exception) -> None:
        """Let the next send fail; called again, also the one after it."""
        with self._lock:
            self._failures.append(error)

    def fail_always(self, error: Exception | None) -> None:
        """Let every send fail until this is called with None."""
        with self._lock:
            self._outage = error
