"""When alarms sound: names, thresholds and runbooks, the one definition that infra and the local page read.

A value that reaches its threshold is alarming. For how long it must stay there belongs to the alarm itself.
"""

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True)
class AlarmRule:
    """One alarm, or with `per_queue` one for each queue, whose name then ends with the queue's.

    `unit` says what the threshold counts, `s` seconds; `runbook` is a file in docs/runbooks without its ending.
    """

    name: str
    threshold: float
    unit: str
    runbook: str
    per_queue: bool = False

    @property
    def runbook_path(self) -> str:
        return f"docs/runbooks/{self.runbook}.md"


COUNTING = timedelta(minutes=5)
"""The time over which happenings such as failed items are counted."""

DEAD_LETTERS = AlarmRule("dead-letters", 1, "messages", "dead-letters", per_queue=True)
QUEUE_AGE = AlarmRule("queue-age", 15 * 60, "s", "queue-age", per_queue=True)
"""A message waits through several backoffs before this; above it people wait for mails and payments."""
ITEMS_FAILED = AlarmRule("items-failed", 20, "in 5 minutes", "items-failed", per_queue=True)
OUTBOX_LATE = AlarmRule("outbox-late", 5 * 60, "s", "outbox-late")
JOBS_OF_UNKNOWN_QUEUES = AlarmRule("unknown-queues", 1, "jobs", "unknown-queues")
EMAIL_SENDING_STOPPED = AlarmRule("email-sending-stopped", 1, "in 5 minutes", "email-sending-stopped")
PAYMENT_EVENTS_UNAPPLIED = AlarmRule("payment-events-unapplied", 1, "events", "payment-events-unapplied")
PAYMENT_EVENTS_QUARANTINED = AlarmRule("payment-events-quarantined", 1, "events", "payment-events-quarantined")
PAYMENT_ANOMALIES = AlarmRule("payment-anomalies", 1, "anomalies", "payment-anomalies")
RECONCILIATION_FINDINGS = AlarmRule("reconciliation-findings", 1, "findings", "reconciliation-findings")
MESSAGES_QUARANTINED = AlarmRule("messages-quarantined", 1, "messages", "messages-quarantined")
API_ERRORS = AlarmRule("api-errors", 5, "in a minute", "api-errors")
API_SLOW = AlarmRule("api-slow", 2000, "ms", "api-slow")
"""What ninety-nine answers of a hundred take at most."""
MAIL_SET_UP = AlarmRule("mail-set-up", 3, "in an hour", "mail-set-up")
"""A single mail is refused by the policy of one mailbox, or by a mistyped domain; several are refused because of us."""
WEBHOOKS_REFUSED = AlarmRule("webhooks-refused", 5, "in 5 minutes", "webhooks-refused")
"""A scanner of the internet tries once or twice; a gateway repeats each webhook that is refused."""

GATEWAY_MISCONFIGURED = AlarmRule("gateway-misconfigured", 1, "in 5 minutes", "gateway-misconfigured")

# Log events that are counted, some of them by alarms.
MAIL_STOPPED_EVENT = "email.sending_stopped"
BOUNCE_OF_OURS_EVENT = "mail_event.ours_to_mend"
WEBHOOK_REFUSED_EVENT = "payment.webhook_refused"
EVENT_IGNORED_EVENT = "payment.event_ignored"
GATEWAY_MISCONFIGURED_EVENT = "payment.gateway_misconfigured"

ALARM_RULES: tuple[AlarmRule, ...] = (
    DEAD_LETTERS,
    QUEUE_AGE,
    ITEMS_FAILED,
    OUTBOX_LATE,
    JOBS_OF_UNKNOWN_QUEUES,
    EMAIL_SENDING_STOPPED,
    PAYMENT_EVENTS_UNAPPLIED,
    PAYMENT_EVENTS_QUARANTINED,
    PAYMENT_ANOMALIES,
    MESSAGES_QUARANTINED,
    API_ERRORS,
    API_SLOW,
    WEBHOOKS_REFUSED,
    RECONCILIATION_FINDINGS,
)
"""Those whose values can be seen on one machine."""
