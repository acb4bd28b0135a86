"""What notifications need from the outside: somebody who sends mail."""

from dataclasses import dataclass, field
from typing import ClassVar, Protocol

from skincare.deployment.providers import Provider
from skincare.errors import PermanentError, ProviderStopped, TransientError


@dataclass(frozen=True)
class Attachment:
    """A file that travels with a mail."""

    filename: str
    content_type: str
    content: bytes = field(repr=False)


@dataclass(frozen=True)
class Email:
    """One mail to one recipient, ready to be sent: both bodies say the same."""

    to: str = field(repr=False)
    subject: str = field(repr=False)
    text: str = field(repr=False)
    html: str = field(repr=False)
    to_name: str | None = field(default=None, repr=False)
    attachments: tuple[Attachment, ...] = ()
    reply_to: str | None = None
    """Where an answer goes; None leaves it to the sender's address."""


class EmailThrottled(TransientError):
    """The provider throttles us: a warning, not an alarm."""


class EmailProviderUnavailable(TransientError):
    """The provider did not answer or failed; it may or may not have taken the mail."""


class EmailSendingStopped(ProviderStopped):
    """The provider refuses every mail of this account until a person acts: nothing is dropped, and an alarm rings."""

    provider: ClassVar[str] = Provider.SES


class EmailUndeliverable(PermanentError):
    """The provider will never take this mail for this recipient. Not a reason to retry or to alarm."""


class EmailSender(Protocol):
    def send(self, email: Email) -> str:
        """Send one mail to exactly one recipient and return the provider's message id, different for each.

        Many threads may call at once. What would break out of a header (line breaks, controls) becomes a
        space. Raises the errors of this module; an address that nobody can have is `EmailUndeliverable`.
        """
        ...
