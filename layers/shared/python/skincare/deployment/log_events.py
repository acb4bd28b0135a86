"""Log events that CloudWatch counts: each is a metric in the namespace `Skincare/<stage>`, without dimensions."""

from dataclasses import dataclass


@dataclass(frozen=True)
class CountedEvent:
    """A log event, the metric that counts it, and the functions in whose logs it may stand.

    Where an alarm counts it, the alarm stands in the stack of the last of them.
    """

    event: str
    metric: str
    functions: tuple[str, ...]


MAIL_STOPPED = CountedEvent("email.sending_stopped", "EmailSendingStopped", ("worker-notifications",))
BOUNCE_OF_OURS = CountedEvent("mail_event.ours_to_mend", "BouncesOfOurs", ("mail-events",))
WEBHOOK_REFUSED = CountedEvent("payment.webhook_refused", "WebhooksRefused", ("api",))
PAYMENT_EVENT_IGNORED = CountedEvent("payment.event_ignored", "PaymentEventsIgnored", ("api",))
GATEWAY_MISCONFIGURED = CountedEvent(
    "payment.gateway_misconfigured", "GatewayMisconfigured", ("api", "worker-payments")
)

COUNTED_EVENTS = (MAIL_STOPPED, BOUNCE_OF_OURS, WEBHOOK_REFUSED, PAYMENT_EVENT_IGNORED, GATEWAY_MISCONFIGURED)
