"""Errors whose type says what to do next.

The message of a `SkincareError` is written to logs, to the ledger and to dead letters. It carries
identifiers, numbers and field names; never an address, a name, a token or the text of a foreign error.
"""

from datetime import timedelta
from typing import ClassVar


class SkincareError(Exception):
    """An error of our own: its message may be logged and stored."""


class TransientError(SkincareError):
    """Trying again later may succeed.

    `retry_after` is the wait that the other side asked for; None leaves it to the backoff.
    """

    def __init__(self, message: str, *, retry_after: timedelta | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class ProviderStopped(TransientError):
    """A provider refuses everything of ours until a person acts: its jobs are held back, and their budgets stand still.

    A subclass sets `provider`, as `deployment/providers.py` names it.
    """

    provider: ClassVar[str]


class PermanentError(SkincareError):
    """Trying again cannot succeed: a person or a fix is needed."""


class InvalidInput(SkincareError):
    """A caller sent something that breaks a rule; `field` is a JSON pointer or a header name."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}")
        self.field = field
        self.message = message


class ConfigurationError(SkincareError):
    """A setting is missing or malformed; the message names the setting, never its value."""
