"""When alarms sound, and the log events that some count. Plain values: tests of the running system read them too."""

from typing import Final

DEAD_LETTERS: Final = 1
OLDEST_MESSAGE_S: Final = 15 * 60
"""A message waits through several backoffs before this; above it people wait for mails and payments."""
OUTBOX_LATE_S: Final = 5 * 60
FAILED_ITEMS: Final = 20
"""In five minutes."""
API_ERRORS: Final = 5
"""In a minute."""
WAITING_FOR_A_PERSON: Final = 1
"""Money that does not fit, and events or messages that are set aside."""
UNAPPLIED_PAYMENT_EVENTS: Final = 1
MAIL_STOPPED: Final = 1
WEBHOOKS_REFUSED: Final = 5
"""In five minutes. A scanner of the internet tries once or twice; a gateway repeats each webhook that is refused."""

MAIL_STOPPED_EVENT: Final = "email.sending_stopped"
WEBHOOK_REFUSED_EVENT: Final = "payment.webhook_refused"
