"""Why a webhook was not taken."""

from datetime import timedelta

from skincare.errors import ConfigurationError, PermanentError, SkincareError, TransientError


class SignatureInvalid(SkincareError):
    """Nothing proves that the gateway sent this; the reason names what was looked at, never what was sent."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"the webhook is not signed: {reason}")


class WebhookMalformed(SkincareError):
    """The body is not a JSON object, so that nothing in it can be found."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"the webhook cannot be read: {reason}")


class GatewayUnknown(SkincareError):
    """No gateway of this name sends us anything. The name is not repeated: it is untrusted text."""

    def __init__(self) -> None:
        super().__init__("there is no such payment gateway")


class SecretsUnavailable(TransientError):
    """The signing secrets cannot be had now, so that nobody can tell a true event from a forged one."""

    def __init__(self, gateway: str, reason: str) -> None:
        super().__init__(f"no signing secrets of {gateway}: {reason}")


class PaymentEventUnknown(TransientError):
    """The event is not visible yet."""

    def __init__(self, event_id: object) -> None:
        super().__init__(f"payment event {event_id} is not stored yet")


class EventOverdue(PermanentError):
    """Its gateway did not confirm it as long as we waited for that; a person must look."""

    def __init__(self, event_id: object, flaw: str) -> None:
        super().__init__(f"payment event {event_id} is quarantined: {flaw}")


class OrderMaybePaid(TransientError):
    """The gateway says that an order is paid: it must not expire before that is applied."""

    def __init__(self, order_number: str) -> None:
        super().__init__(f"order {order_number} seems to be paid", retry_after=timedelta(minutes=2))


class PaymentUnderWay(TransientError):
    """A customer can still pay, or the gateway waits for the money: the order does not expire yet."""

    def __init__(self, order_number: str) -> None:
        super().__init__(f"a payment of order {order_number} is under way", retry_after=timedelta(minutes=15))


class RefundNotPossible(SkincareError):
    """What was asked for cannot be given back; the message says why."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"the refund is not possible: {reason}")


class RefundUnknown(PermanentError):
    """A job asks for a refund that is not there: both are written in one transaction."""

    def __init__(self, key: str) -> None:
        super().__init__(f"there is no refund {key}")


class ReconciliationUnfinished(TransientError):
    """There was no time to look through everything or to ask about every attempt; the next try goes on."""

    def __init__(self) -> None:
        super().__init__("there was no time for everything", retry_after=timedelta(seconds=5))


class TransactionContested(TransientError):
    """Another order got the same transaction at the same moment; the next try sees it."""

    def __init__(self, event_id: object) -> None:
        super().__init__(f"the transaction of payment event {event_id} was written by another order just now")


class FullPaymentsContested(TransientError):
    """Somebody else applied an event of the batch, or wrote its transaction, at the same moment."""

    def __init__(self) -> None:
        super().__init__("a payment of the batch was written by somebody else just now")


class EventUnconfirmed(TransientError):
    """The gateway does not say, or not yet, what the event says: it lags, or the event is forged."""

    def __init__(self, event_id: object, gateway: str) -> None:
        super().__init__(f"payment event {event_id} is not confirmed by {gateway}")


class WebhookContested(TransientError):
    """A copy of the same event is being stored at this moment."""

    def __init__(self) -> None:
        super().__init__("another copy of the webhook is being stored")


class GatewayUnavailable(TransientError):
    """The gateway did not answer, or failed; whether it did what we asked is unknown."""

    def __init__(self, gateway: str, reason: str) -> None:
        super().__init__(f"{gateway} does not answer: {reason}")


class GatewayMisconfigured(GatewayUnavailable):
    """The gateway refuses our key or leads elsewhere. Nothing is dropped, and an alarm rings."""

    def __init__(self, gateway: str, reason: str) -> None:
        TransientError.__init__(self, f"{gateway} does not let us in: {reason}")


class GatewayNotConfigured(GatewayMisconfigured, ConfigurationError):
    """The gateway must be asked and cannot be: no address of it is configured, or this release has no client for it."""

    def __init__(self, gateway: str, *, has_client: bool = True) -> None:
        way_out = f": set GATEWAY_URL_{gateway.upper()}" if has_client else ", and this release has no client for it"
        TransientError.__init__(self, f"{gateway} must be asked{way_out}")


class GatewayRefused(PermanentError):
    """The gateway understood and will not do it. `status` is that of its answer over HTTP, if it came so far."""

    def __init__(self, gateway: str, reason: str, *, status: int | None = None) -> None:
        super().__init__(f"{gateway} refuses: {reason}")
        self.status = status


class ReferenceTaken(GatewayRefused):
    """The gateway starts no second payment under this reference: the next attempt has another one."""

    def __init__(self, gateway: str) -> None:
        super().__init__(gateway, "the reference is taken")


class RefundTooEarly(GatewayUnavailable):
    """The payment cannot be given back before it is settled, which for a card is the next day."""

    def __init__(self, gateway: str) -> None:
        TransientError.__init__(
            self,
            f"{gateway} gives nothing back before the payment is settled: it is asked again until then",
            retry_after=timedelta(minutes=15),
        )


class RefundOvertaken(PermanentError):
    """A refund cannot be sent, or sent again: its money is gone, or asked for by another refund."""

    def __init__(self, key: str) -> None:
        super().__init__(f"refund {key} is not sent: not enough of its payment is left")


class AttemptsUnasked(TransientError):
    """There was no time to ask about every attempt of an order; the next try goes on."""

    def __init__(self, order_number: str) -> None:
        super().__init__(f"not every attempt of order {order_number} was asked about", retry_after=timedelta(seconds=5))


class OrderNotPayable(SkincareError):
    """The order is not pending any more, or its time to be paid is over."""

    def __init__(self, order_number: str, status: str) -> None:
        super().__init__(f"order {order_number} is {status} and cannot be paid")
        self.status = status
