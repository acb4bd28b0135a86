"""Asking a gateway what happened, where the signature of its webhook does not cover that."""

from collections.abc import Iterable

from skincare.database.connection import Database
from skincare.observability import logger
from skincare.payments.attempts import repository as attempts
from skincare.payments.deadline import in_turn, within
from skincare.payments.errors import EventUnconfirmed
from skincare.payments.gateways.clients import client
from skincare.payments.models import REFUNDS, EventStatus, Report
from skincare.payments.ports import Gateways
from skincare.payments.settlement import PaymentEvent

_WITHIN_S = 10.0
"""A job has fifteen seconds, and the database needs its share."""


def confirm(event: PaymentEvent, *, database: Database, gateways: Gateways) -> Report:
    """Return the gateway's own word on an event, which is what may be applied. Calls the network: no transaction.

    Raises `EventUnconfirmed` while there is none, `GatewayNotConfigured` where nobody can be asked, and the
    errors of the client.
    """
    asked = client(gateways, event.gateway)
    with database.connection() as conn:
        started = attempts.of_order(conn, event.order_number, gateway=event.gateway, attempt_no=event.attempt_no)
    with within(_WITHIN_S):
        for attempt in in_turn(started):
            report = matching_report(event, asked.transactions(attempt, (event.transaction_id,)))
            if report is not None:
                if report.status is not event.status:
                    logger.warning(
                        "payment.event_corrected", event_id=event.event_id, told=event.status, confirmed=report.status
                    )
                return report
    raise EventUnconfirmed(event.event_id, event.gateway)


def matching_report(event: PaymentEvent, reports: Iterable[Report]) -> Report | None:
    """Choose the report that an event is about; None while the gateway does not say that much.

    A refund is found by its key and a chargeback by its status; whatever else an event says, the report of the
    payment itself decides. A gateway may know more than the event, and may for a while know less.
    """
    of_transaction = [
        report
        for report in reports
        if (report.order_number, report.transaction_id) == (event.order_number, event.transaction_id)
    ]
    if event.status in REFUNDS:
        return next(
            (each for each in of_transaction if each.status in REFUNDS and each.refund_key == event.refund_key), None
        )
    if event.status is EventStatus.CHARGEBACK:
        return next((each for each in of_transaction if each.status is EventStatus.CHARGEBACK), None)
    payment = next(
        (each for each in of_transaction if each.status not in {None, EventStatus.CHARGEBACK, *REFUNDS}), None
    )
    if payment is None or (payment.status is EventStatus.PENDING and event.status is not EventStatus.PENDING):
        return None
    return payment
