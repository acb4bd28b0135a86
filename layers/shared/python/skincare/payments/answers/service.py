"""What gateways answer when we ask them about an attempt, kept as events like those that they send."""

import json
from collections.abc import Collection, Sequence
from dataclasses import asdict, replace

from skincare.database.connection import Database
from skincare.identifiers import OrderNumber, new_job_id, uuid7
from skincare.jobs.publisher import Publisher
from skincare.observability import logger
from skincare.payments import repository
from skincare.payments.answers.repository import fact_of, is_waiting, known_facts, named_transactions
from skincare.payments.gateways.clients import client
from skincare.payments.models import Attempt, Closing, EventId, EventSource, EventStatus, GatewayEvent, Report
from skincare.payments.ports import Gateways

_MONEY = {
    EventStatus.PAID,
    EventStatus.REFUNDED,
    EventStatus.PARTIALLY_REFUNDED,
    EventStatus.CHARGEBACK,
    EventStatus.VOIDED,
}
_LONGEST_KEY = 500


def ask(gateways: Gateways, gateway: str, attempt: Attempt, *, database: Database) -> Sequence[Report]:
    """Return what a gateway knows of an attempt, also by the transactions that its webhooks named.

    Raises `GatewayUnavailable` and `GatewayRefused`.
    """
    asked, named = client(gateways, gateway), _named(gateway, attempt, database)
    # We asked by the reference of our attempt: whatever the answer calls it, it is about that order.
    return [replace(report, order_number=attempt.order_number) for report in asked.transactions(attempt, named)]


def close(
    order_number: OrderNumber,
    gateway: str,
    attempt: Attempt,
    *,
    database: Database,
    gateways: Gateways,
    publisher: Publisher,
) -> Closing:
    """Let nobody pay an attempt any more. Where somebody has, the money is kept as an event unless it was known.

    Applied money that did not pay the order counts as none: then the attempt is closed. Raises as `ask` does.
    """
    outcome = client(gateways, gateway).close(attempt, _named(gateway, attempt, database))
    if outcome is not Closing.PAID:
        return outcome
    answers = [(gateway, report) for report in ask(gateways, gateway, attempt, database=database)]
    new = keep(order_number, answers, database=database, publisher=publisher)
    reported = [report.transaction_id for _, report in answers if report.status is EventStatus.PAID]
    with database.connection() as conn:
        waits = new > 0 or is_waiting(conn, order_number, gateway, reported)
    return Closing.CLOSED if reported and not waits else Closing.PAID


def _named(gateway: str, attempt: Attempt, database: Database) -> Sequence[str]:
    with database.connection() as conn:
        return named_transactions(conn, gateway, attempt)


def keep(
    order_number: OrderNumber,
    answers: Collection[tuple[str, Report]],
    *,
    database: Database,
    publisher: Publisher,
) -> int:
    """Store what moved money and was not known, each with its job; return how many events are new.

    `answers` are pairs of a gateway and its report. What a webhook reported before, or reports later, adds up to
    the same: a payment is one however often it is reported, and a refund is known by its key. One that is reported with
    another amount than before is news.
    """
    moved = [(gateway, report) for gateway, report in answers if report.status in _MONEY]
    if not moved:
        return 0
    jobs = []
    with database.connection() as conn:
        known = known_facts(conn, order_number)
        for gateway, report in moved:
            if fact_of(gateway, report) in known:
                continue
            intake = repository.store(
                conn,
                GatewayEvent(_key(report), {}, report),
                gateway=gateway,
                body=json.dumps(asdict(report), default=str).encode(),
                event_id=EventId(uuid7()),
                job_id=new_job_id(),
                request_id=None,
                source=EventSource.ANSWER,
            )
            if intake.job is not None:
                jobs.append(intake.job)
                logger.warning("payment.event_missed", gateway=gateway, order_number=order_number, status=report.status)
    publisher.publish_now(jobs)
    return len(jobs)


def _key(report: Report) -> str:
    """Name an answer by what it says: asked again, the gateway says it again."""
    which = f"{report.refund_key}:" if report.refund_key else ""
    return f"answer:{report.transaction_id}:{report.status}:{which}{report.amount_rupiah}"[:_LONGEST_KEY]
