"""Taking in what payment gateways tell us, and applying it to orders."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial

from skincare.database.connection import Connection, Database, LockUnavailable
from skincare.identifiers import OrderNumber, is_order_number, new_job_id, uuid7
from skincare.invoices import repository as invoices
from skincare.jobs.catalog import (
    ClosePayments,
    ExpireOrder,
    GenerateInvoicePdf,
    JobPayload,
    ProcessPayment,
    SendPaymentReceivedEmail,
)
from skincare.jobs.models import DueJob
from skincare.jobs.publisher import Publisher
from skincare.jobs.repository import outbox, timers
from skincare.observability import logger
from skincare.orders.models import OrderStatus
from skincare.payments import confirmation, json_fields, repository
from skincare.payments.closing import repository as closing
from skincare.payments.errors import (
    EventOverdue,
    EventUnconfirmed,
    GatewayUnknown,
    PaymentEventUnknown,
    SignatureInvalid,
    WebhookContested,
)
from skincare.payments.gateways.webhooks import READERS
from skincare.payments.models import EventId, EventState, EventStatus, GatewayEvent, Webhook
from skincare.payments.orphans import repository as orphans
from skincare.payments.ours import NOT_OUR_FORM, of_our_form, of_our_merchant
from skincare.payments.ports import Gateway, Gateways, SecretStore
from skincare.payments.refund_effects.service import follow_up
from skincare.payments.refunds import repository as refunds
from skincare.payments.refunds.service import book
from skincare.payments.repository import LockedOrder
from skincare.payments.settlement import Anomaly, AnomalyKind, PaymentEvent, Settlement, settle
from skincare.payments.unknown_statuses import repository as unknown_statuses

# Longer than lock_timeout and, after a new session's two seconds or a ping, still within the three seconds
# in which a gateway is to hear from us.
_ANSWER_WITHIN_S = 2.5

# Shorter than the budget by more than the longest backoff: the last tries know that they are the last.
_EVENT_FITS_WITHIN = ProcessPayment.budget - timedelta(minutes=15)
_UNCONFIRMED = "its gateway never confirmed it"
OVERDUE_FLAWS = frozenset({_UNCONFIRMED, orphans.FLAW})
"""Why events are set aside that another try may apply."""


def receive(
    gateway_name: str,
    webhook: Webhook,
    *,
    secrets: SecretStore,
    database: Database,
    publisher: Publisher,
    request_id: str,
    trace_id: str | None = None,
    now: datetime,
    merchant_ids: Mapping[str, str] | None = None,
) -> None:
    """Store a webhook whose signature is right, with its job, and publish the job; a copy changes nothing.

    One about another merchant than ours, by gateway in `merchant_ids`, or about an order number that we never write,
    waits for a person, and so does one that has the identifier of an earlier event and says something else: as a copy
    its money would be gone.
    Raises `GatewayUnknown`, `SignatureInvalid`, `WebhookMalformed`, and errors that are transient: then the
    gateway must send it again.
    """
    gateway = READERS.get(gateway_name)
    if gateway is None:
        raise GatewayUnknown
    event = of_our_merchant(_verified(gateway, webhook, secrets, now), (merchant_ids or {}).get(gateway_name))
    event = of_our_form(event)
    event_id = EventId(uuid7())
    store = partial(
        repository.store,
        gateway=gateway.name,
        body=webhook.body,
        event_id=event_id,
        job_id=new_job_id(),
        request_id=request_id,
        trace_id=trace_id,
    )
    try:
        with database.connection(answer_within_s=_ANSWER_WITHIN_S) as conn:
            intake = store(conn, event)
            if not intake.is_new and repository.is_reported_differently(conn, event, gateway=gateway.name):
                event = replace(
                    event,
                    key=f"sha256:{json_fields.digest(webhook.body)}",
                    flaw=event.flaw or "another event has its identifier",
                )
                intake = store(conn, event)
            set_aside = _set_aside_after_a_payment(conn, event)
    except LockUnavailable as error:
        raise WebhookContested from error
    _log(gateway.name, event, event_id, is_new=intake.is_new)
    _log_unknown_statuses(*set_aside)
    if intake.job is not None:
        publisher.publish_now([intake.job])


def apply_event(event_id: EventId, *, database: Database, gateways: Gateways, publisher: Publisher) -> None:
    """Apply a stored event to its order, once: what it says, or what its gateway says where it must be asked.

    The event that pays the order sets off its mail and its invoice. One without its order waits, and no job with it:
    the reconciliation enqueues another one once the order is here. Raises `PaymentEventUnknown` and
    `TransactionContested`, and the errors of `confirmation.confirm`; `EventOverdue` once an event has waited too long
    for its gateway.
    """
    with _setting_aside_what_is_overdue(event_id, database):
        jobs = _apply(event_id, database=database, gateways=gateways)
    if jobs:
        publisher.publish_now(jobs)


def _apply(event_id: EventId, *, database: Database, gateways: Gateways) -> list[DueJob]:
    """Apply an event; return the jobs that it set off, which are to be published."""
    with database.connection() as conn:
        found = repository.find_event(conn, event_id)
    if found is None:
        raise PaymentEventUnknown(event_id)
    state, event = found
    if state is not EventState.RECEIVED or event is None:
        logger.info("payment.event_done_before", event_id=event_id, state=state)
        return []
    confirmed = None
    order_number = OrderNumber(event.order_number)
    if not (event.is_answer or READERS[event.gateway].status_is_signed):
        with database.connection() as conn:
            if repository.total_of(conn, order_number) is None:
                return _leave_without_order(conn, event)
        confirmed = confirmation.confirm(event, database=database, gateways=gateways)
    with database.connection() as conn, conn.transaction():
        order = repository.lock_order(conn, order_number)
        if order is None:
            return _leave_without_order(conn, event)
        if not repository.mark_applied(conn, event_id, confirmed):
            return []
        events = repository.applied_events(conn, order_number)
        foreign = repository.foreign_transactions(conn, order.id, {each.transaction for each in events})
        asked = refunds.asked_for(conn, order.id) if any(each.refund_key for each in events) else {}
        settlement = settle(order.status, order.total_rupiah, events, foreign=foreign, asked=asked)
        applied = next(each for each in events if each.event_id == event_id)
        if _comes_back(order, settlement):
            settlement = _reported_as_refunded(settlement, applied)
        anomalies = repository.save(conn, order, settlement, event_id=event_id)
        book(conn, order.id, settlement.payments)
        set_aside = unknown_statuses.set_aside(conn, order_number) if applied.status is EventStatus.PAID else []
        jobs: list[DueJob] = []
        if _becomes_paid(order, settlement):
            timers.cancel(conn, ExpireOrder(order_number=order_number).unique_key)
            payloads: list[JobPayload] = [
                SendPaymentReceivedEmail(order_number=order_number),
                GenerateInvoicePdf(order_number=order_number),
            ]
            if closing.which_may_take_money(conn, [order.id]):
                payloads.append(ClosePayments(order_number=order_number))
            jobs = outbox.insert_all(conn, payloads, order_number=order_number, request_id=order.request_id)
            # Last, because every other payment waits for the year's row until we commit.
            invoices.take_number(conn, order.id)
        elif _comes_back(order, settlement):
            # The mail's job may have found the order refunded and said nothing.
            mail = SendPaymentReceivedEmail(order_number=order_number)
            again = outbox.insert_again(conn, mail, order_number=order_number, request_id=order.request_id)
            jobs = [again] if again else []
        jobs += follow_up(conn, order, settlement, order_number=order_number)
    logger.info(
        "payment.event_applied",
        event_id=event_id,
        order_number=order_number,
        status=applied.status,
        order_status=settlement.order_status,
    )
    _log_unknown_statuses(set_aside, order_number)
    for anomaly in anomalies:
        logger.error(
            "payment.anomaly",
            event_id=anomaly.event.event_id,
            order_number=order_number,
            kind=anomaly.kind,
            task=anomaly.task,
            expected_rupiah=order.total_rupiah,
            amount_rupiah=anomaly.event.amount_rupiah,
        )
    return jobs


def _leave_without_order(conn: Connection, event: PaymentEvent) -> list[DueJob]:
    """Let an event wait for its order without a job, or for a person where no order of ours has such a number.

    An order is committed before any gateway hears of it: trying again in a minute would not find it either.
    """
    if not is_order_number(event.order_number):
        repository.quarantine(conn, event.event_id, flaw=NOT_OUR_FORM)
        logger.error("payment.event_quarantined", event_id=event.event_id, flaw=NOT_OUR_FORM)
    else:
        logger.warning("payment.event_without_order", event_id=event.event_id, order_number=event.order_number)
    return []


def _comes_back(order: LockedOrder, settlement: Settlement) -> bool:
    """Tell whether an order that counted as refunded does not any more: another payment turns out to be here."""
    return order.status is OrderStatus.REFUNDED and settlement.order_status is not OrderStatus.REFUNDED


def _reported_as_refunded(settlement: Settlement, event: PaymentEvent) -> Settlement:
    """Return the settlement with a task for a person: the order may have been shipped or written off meanwhile."""
    return replace(settlement, anomalies=(*settlement.anomalies, Anomaly(event, AnomalyKind.PAID_AGAIN)))


def _log_unknown_statuses(event_ids: Iterable[EventId], order_number: OrderNumber) -> None:
    for event_id in event_ids:
        logger.error(
            "payment.event_quarantined", event_id=event_id, order_number=order_number, flaw=unknown_statuses.FLAW
        )


def _becomes_paid(order: LockedOrder, settlement: Settlement) -> bool:
    """Tell whether the order leaves the state from which money leads away, and to which nothing leads back.

    It may skip *paid*: a refund can be known before its payment is.
    """
    return order.status is OrderStatus.PENDING and settlement.order_status is not OrderStatus.PENDING


@contextmanager
def _setting_aside_what_is_overdue(event_id: EventId, database: Database) -> Iterator[None]:
    """Quarantine an event whose confirmation did not come in time, and raise `EventOverdue`."""
    try:
        yield
    except EventUnconfirmed:
        with database.connection() as conn:
            overdue = repository.quarantine(conn, event_id, flaw=_UNCONFIRMED, after=_EVENT_FITS_WITHIN)
        if not overdue:
            raise
        logger.error("payment.event_quarantined", event_id=event_id, flaw=_UNCONFIRMED)
        raise EventOverdue(event_id, _UNCONFIRMED) from None


def _set_aside_after_a_payment(conn: Connection, event: GatewayEvent) -> tuple[list[EventId], OrderNumber]:
    """Quarantine events with an unknown status about an order that has a payment; also of a copy, if we died before.

    Under the order's lock: the event that pays it may be applied at this moment, and one of us must see both.
    """
    report = event.report
    if event.state is not EventState.IGNORED or report is None:
        return [], OrderNumber("")
    order_number = OrderNumber(report.order_number)
    with conn.transaction():
        if repository.lock_order(conn, order_number) is None:
            return [], order_number
        return unknown_statuses.set_aside(conn, order_number), order_number


def _verified(gateway: Gateway, webhook: Webhook, secrets: SecretStore, now: datetime) -> GatewayEvent:
    try:
        return _read_by_known_secrets(gateway, webhook, secrets, now)
    except SignatureInvalid as error:
        # An alarm counts this event: many are a forger, or a secret of ours that is not the gateway's any more.
        logger.warning("payment.webhook_refused", gateway=gateway.name, reason=str(error))
        raise


def _read_by_known_secrets(gateway: Gateway, webhook: Webhook, secrets: SecretStore, now: datetime) -> GatewayEvent:
    known = secrets.secrets(gateway.name)
    try:
        return gateway.read(webhook, known, now)
    except SignatureInvalid:
        # A secret may have been replaced since we looked.
        renewed = secrets.secrets(gateway.name, fresh=True)
        if renewed == known:
            raise
        return gateway.read(webhook, renewed, now)


def _log(gateway: str, event: GatewayEvent, event_id: EventId, *, is_new: bool) -> None:
    order_number = event.report and event.report.order_number
    if not is_new:
        logger.info("payment.event_repeated", gateway=gateway, order_number=order_number)
        return
    match event.state:
        case EventState.QUARANTINED:
            logger.error("payment.event_quarantined", gateway=gateway, event_id=event_id, flaw=event.flaw)
        case EventState.IGNORED:
            logger.warning("payment.event_ignored", gateway=gateway, event_id=event_id, order_number=order_number)
        case _:
            logger.info("payment.event_received", gateway=gateway, event_id=event_id, order_number=order_number)
