"""What invoices need from the outside: a place that keeps files."""

from datetime import timedelta
from typing import Protocol

from skincare.errors import TransientError


class ObjectStoreUnavailable(TransientError):
    """The store did not answer or refused; the message holds its error code only. The file may be there or not."""


class ObjectStore(Protocol):
    """Keeps files by their key and never changes one. Many threads may call at once."""

    def put_if_absent(self, key: str, content: bytes, *, content_type: str) -> bool:
        """Keep a file unless there is one with this key; False means that there was, and it stays as it is.

        Raises `ObjectStoreUnavailable`.
        """
        ...

    def link(self, key: str, *, filename: str, expires_in: timedelta) -> str:
        """Return a URL by which anybody may fetch the file for a while, without asking whether it is there.

        The browser shows it, and saves it as `filename`. Raises `ObjectStoreUnavailable`.
        """
        ...
