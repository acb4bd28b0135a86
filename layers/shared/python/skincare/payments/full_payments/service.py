"""Applying full payments, many at once: the same rules as one by one, and whatever they do not settle alone is left."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from skincare.database.connection import Connection
from skincare.identifiers import OrderNumber
from skincare.invoices import repository as invoices
from skincare.jobs.catalog import ClosePayments, ExpireOrder, GenerateInvoicePdf, SendPaymentReceivedEmail
from skincare.jobs.models import DueJob
from skincare.jobs.repository import outbox, timers
from skincare.jobs.repository.outbox import NewJob
from skincare.orders.models import OrderStatus
from skincare.payments.closing import repository as closing
from skincare.payments.errors import FullPaymentsContested
from skincare.payments.full_payments import repository
from skincare.payments.full_payments.repository import Known, StoredEvent
from skincare.payments.gateways.webhooks import READERS
from skincare.payments.models import EventId, EventState, EventStatus
from skincare.payments.repository import LockedOrder
from skincare.payments.settlement import PaymentEvent, Settlement, settle


@dataclass(frozen=True)
class FullPayment:
    """A stored event that pays a locked order, and what all events of that order add up to with it."""

    stored: StoredEvent
    order: LockedOrder
    settlement: Settlement

    @property
    def order_number(self) -> OrderNumber:
        return OrderNumber(self.stored.event.order_number)

    @property
    def line(self) -> tuple[str, Mapping[str, Any]]:
        """What is to be logged once it is committed, as of one that is applied by itself."""
        return "payment.event_applied", {
            "event_id": self.stored.event.event_id,
            "order_number": self.order_number,
            "request_id": self.stored.request_id,
            "status": self.stored.event.status,
            "order_status": self.settlement.order_status,
        }


@dataclass(frozen=True)
class Applied:
    """The payments that were applied, and the jobs that they set off, which are to be published after COMMIT."""

    payments: Sequence[FullPayment] = ()
    jobs: Sequence[DueJob] = ()


def apply_full_payments(conn: Connection, event_ids: Collection[EventId]) -> Applied:
    """Apply those of the stored events that are full payments, in the caller's transaction; the others stay untouched.

    A full payment is confirmed by its signature or was its gateway's answer, makes its order paid, and leaves nothing
    to a person. Raises `FullPaymentsContested` where somebody was faster with one of them: then roll back.
    """
    found = list(_full_payments(conn, event_ids))
    if not found:
        return Applied()
    order_ids = [each.order.id for each in found]
    if not repository.mark_applied(conn, [each.stored.event.event_id for each in found]):
        raise FullPaymentsContested
    if not repository.save(conn, [(each.order, each.settlement) for each in found]):
        raise FullPaymentsContested
    timers.cancel_all(conn, [ExpireOrder(order_number=each.order_number).unique_key for each in found])
    open_orders = closing.which_may_take_money(conn, order_ids)
    jobs = outbox.insert_many(
        conn, [job for each in found for job in _set_off(each, is_open=each.order.id in open_orders)]
    )
    # Last, because every other payment waits for the year's row until the caller commits.
    for order_id in order_ids:
        invoices.take_number(conn, order_id)
    return Applied(found, jobs)


def _set_off(payment: FullPayment, *, is_open: bool) -> Iterator[NewJob]:
    order_number, request_id = payment.order_number, payment.order.request_id
    yield NewJob(SendPaymentReceivedEmail(order_number=order_number), order_number, request_id)
    yield NewJob(GenerateInvoicePdf(order_number=order_number), order_number, request_id)
    if is_open:
        yield NewJob(ClosePayments(order_number=order_number), order_number, request_id)


def _full_payments(conn: Connection, event_ids: Collection[EventId]) -> Iterator[FullPayment]:
    """Lock the orders and return what pays each of them in full, in the order of their ids."""
    orders = repository.lock_pending(conn, event_ids)
    # Another statement than the one that locks: it sees what was committed while that waited.
    stored = repository.load_events(conn, event_ids, orders)
    known = repository.load_known(conn, orders.values(), {each.event.transaction for each in stored})
    applied: defaultdict[str, list[PaymentEvent]] = defaultdict(list)
    received: dict[str, StoredEvent] = {}
    for each in stored:
        if each.state is EventState.APPLIED:
            applied[each.event.order_number].append(each.event)
        elif _is_confirmed(each.event):
            received.setdefault(each.event.order_number, each)
    for order_number, order in orders.items():
        event = received.get(order_number)
        settlement = event and _settled(order, [*applied[order_number], event.event], known)
        if event and settlement:
            yield FullPayment(event, order, settlement)


def _is_confirmed(event: PaymentEvent) -> bool:
    """Tell whether an event says that money came, and nobody has to be asked about it."""
    reader = READERS.get(event.gateway)
    return event.status is EventStatus.PAID and (event.is_answer or bool(reader and reader.status_is_signed))


def _settled(order: LockedOrder, events: Sequence[PaymentEvent], known: Known) -> Settlement | None:
    """Return what the events add up to where they make the order paid and leave nothing to a person."""
    if order.id in known.of_note or any(each.refund_key for each in events):
        return None
    owners: Mapping[tuple[str, str], int] = known.owners
    if any(owners.get(each.transaction, order.id) != order.id for each in events):
        return None
    settlement = settle(order.status, order.total_rupiah, events)
    return settlement if settlement.order_status is OrderStatus.PAID and not settlement.anomalies else None
