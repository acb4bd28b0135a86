"""Reconciliation: once a day everything about money is held against each other, and stock against its movements.

What is safe to repeat is repeated; the rest is written down for a person. Nothing here changes an order or stock.
"""

import random
import time
from dataclasses import dataclass

from skincare.database.connection import Connection, Database
from skincare.identifiers import OrderNumber
from skincare.jobs.catalog import (
    ExpireOrder,
    JobPayload,
    ProcessPayment,
    SendRefund,
)
from skincare.jobs.publisher import Publisher
from skincare.jobs.repository import outbox
from skincare.observability import logger
from skincare.orders.terms import EXPIRY_GRACE
from skincare.payments.answers.service import ask, keep
from skincare.payments.deadline import within
from skincare.payments.errors import GatewayRefused, GatewayUnavailable, ReconciliationUnfinished
from skincare.payments.expiry.repository import KnownAttempt
from skincare.payments.findings.models import Finding, Owed
from skincare.payments.findings.repository.findings import open_findings
from skincare.payments.findings.service import look_through
from skincare.payments.orphans import repository as orphans
from skincare.payments.ports import Gateways
from skincare.payments.reconciliation import repository
from skincare.payments.reconciliation.repository import Unattended

_PER_KIND = 200
_PER_RUN = 20
_ORPHANS_PER_RUN = 1000
# A gateway may take its whole timeout for each answer, and a job has fifteen seconds.
_ASK_FOR_S = 4.0
_LOOK_FOR_S = 4.0
_ONE_WITHIN_S = 5.0


@dataclass(frozen=True)
class Reconciliation:
    """What one run did: jobs that it enqueued anew, and what is open now. It may have had no time for everything."""

    repaired: tuple[Unattended, ...]
    findings: tuple[Finding, ...]
    finished: bool


def check(database: Database, *, within_s: float = _LOOK_FOR_S) -> Reconciliation:
    """Enqueue jobs that are missing, set orphaned events aside, and write down what does not add up.

    Several runs at once do no harm. One that is not finished within its time goes on where it was, the next time that
    somebody asks.
    """
    with database.connection() as conn:
        with conn.transaction():
            repaired = repair(conn)
        orphaned = orphans.set_aside(conn, after=ProcessPayment.budget, limit=_ORPHANS_PER_RUN)
    for event_id in orphaned:
        logger.error("payment.event_quarantined", event_id=event_id, flaw=orphans.FLAW)
    looked = look_through(database, within_s=within_s)
    repaired += tuple(map(unattended, looked.enqueued))
    with database.connection() as conn:
        findings = open_findings(conn, limit=_PER_KIND)
    log = logger.error if looked.new else logger.info
    log(
        "reconciliation.checked",
        repaired=len(repaired),
        findings=len(findings),
        new_findings=looked.new,
        finished=looked.finished,
    )
    return Reconciliation(repaired, tuple(findings), looked.finished)


def unattended(owed: Owed) -> Unattended:
    """Return an owed job as what was without one."""
    return Unattended(owed.job_type, owed.order_number, owed.order_number)


def repair(conn: Connection) -> tuple[Unattended, ...]:
    """Enqueue jobs that are missing, in the caller's transaction; return what was without one."""
    missing = repository.unattended(conn, grace=EXPIRY_GRACE, limit=_PER_KIND)
    repaired = tuple(
        each
        for each in missing
        if outbox.insert_for_relay(
            conn, _job_of(each), unique_key=f"{each.kind}:{each.subject}", order_number=each.order_number
        )
    )
    for each in repaired:
        logger.warning("reconciliation.job_missing", kind=each.kind, order_number=each.order_number)
    return repaired


def ask_gateways(*, database: Database, gateways: Gateways, publisher: Publisher) -> None:
    """Ask what became of attempts that have ended, and keep what moved money unknown to us.

    A gateway that does not answer is not in the way of the others: those are asked all the same, and chance decides who
    goes first, for it may use up the time. Raises `ReconciliationUnfinished` when there are more attempts than one run
    has time for, and `GatewayUnavailable`: the next try goes on where this one stopped.
    """
    with database.connection() as conn:
        to_ask = repository.gateways_to_ask(conn)
    random.shuffle(to_ask)
    started = time.monotonic()
    asked = missed = 0
    finished = True
    silent: GatewayUnavailable | None = None
    for gateway in to_ask:
        with database.connection() as conn:
            attempts = repository.attempts_to_ask(conn, gateway, limit=_PER_RUN)
        finished = finished and len(attempts) < _PER_RUN
        for known in attempts:
            if asked == _PER_RUN or time.monotonic() - started > _ASK_FOR_S:
                finished = False
                break
            try:
                missed += _ask(known, database=database, gateways=gateways, publisher=publisher)
            except GatewayUnavailable as error:
                silent = error
                break
            asked += 1
    logger.info("reconciliation.asked", attempts=asked, missed_events=missed)
    if silent is not None:
        raise silent
    if not finished:
        raise ReconciliationUnfinished


def _ask(known: KnownAttempt, *, database: Database, gateways: Gateways, publisher: Publisher) -> int:
    """Ask about one attempt; return how many events were unknown. Raises `GatewayUnavailable`."""
    try:
        with within(_ONE_WITHIN_S):
            reports = ask(gateways, known.gateway, known.attempt, database=database)
    except GatewayRefused:
        # Asking again tomorrow would not help either.
        logger.error("reconciliation.not_told", gateway=known.gateway, reference=known.attempt.reference)
        reports = []
    answers = [(known.gateway, report) for report in reports]
    new = keep(OrderNumber(known.attempt.order_number), answers, database=database, publisher=publisher)
    with database.connection() as conn:
        repository.mark_asked(conn, [known.attempt])
    return new


def _job_of(each: Unattended) -> JobPayload:
    match each.kind:
        case ProcessPayment.job_type:
            return ProcessPayment(event_id=each.subject)
        case SendRefund.job_type:
            return SendRefund(refund_key=each.subject)
        case _:
            return ExpireOrder(order_number=each.subject)
