"""The relay: puts on SQS whatever is due, and clears the dead-letter queues of what is waste."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from skincare.database.connection import Database
from skincare.jobs import envelope
from skincare.jobs.models import SweepVerdict
from skincare.jobs.ports import Queue, Queues, QueueUnavailable, ReceivedMessage
from skincare.jobs.publisher import Publisher
from skincare.jobs.repository import dead_letter, outbox
from skincare.jobs.retry import TimeLeft
from skincare.observability import logger

TAKE_LIMIT = 500
_ENOUGH_TIME = timedelta(seconds=10)
_LOOKS_PER_SWEEP = 20


@dataclass
class RelayReport:
    """What one run did."""

    sent: int = 0
    refused: int = 0
    unavailable: int = 0
    swept: dict[str, int] = field(default_factory=dict)


def run_relay(
    *,
    database: Database,
    queues: Queues,
    publisher: Publisher,
    budgets: Mapping[str, timedelta],
    time_left: TimeLeft,
) -> RelayReport:
    """Publish what is due until nothing is, SQS stops taking it, or time runs short; then sweep.

    Raises `DatabaseUnavailable`. Dying anywhere costs nothing: what was taken and not marked is due
    again after 60 s.
    """
    report = RelayReport()
    while time_left() > _ENOUGH_TIME:
        with database.connection() as conn:
            due = outbox.take_due(conn, limit=TAKE_LIMIT)
        done = publisher.publish(due)
        report.sent += done.sent
        report.refused += done.refused
        report.unavailable += done.unavailable
        if len(due) < TAKE_LIMIT or done.unavailable:
            break
    for name, pair in queues.items():
        if time_left() > _ENOUGH_TIME:
            report.swept[name] = sweep(pair.dead_letters, database=database, budgets=budgets)
    logger.info(
        "relay.ran",
        sent=report.sent,
        refused=report.refused,
        unavailable=report.unavailable,
        swept=report.swept,
    )
    return report


def sweep(dead_letters: Queue, *, database: Database, budgets: Mapping[str, timedelta]) -> int:
    """Join what lies on a dead-letter queue with the ledger, delete what is waste, and return how many that were.

    Looks without hiding (visibility 0), so that the alarm on visible messages does not flap. The
    ledger is changed first: dying before the deletion only means that the next sweep finds the copy again.
    """
    seen: set[str] = set()
    deleted = 0
    for _ in range(_LOOKS_PER_SWEEP):
        try:
            messages = dead_letters.receive(limit=10, wait=timedelta(0), visibility=timedelta(0))
        except QueueUnavailable:
            break
        fresh = [message for message in messages if message.message_id not in seen]
        if not fresh:
            break
        seen.update(message.message_id for message in fresh)
        waste = _waste(fresh, database=database, budgets=budgets)
        if waste:
            deleted += len(waste) - len(dead_letters.ack(waste))
    return deleted


def _waste(
    messages: list[ReceivedMessage], *, database: Database, budgets: Mapping[str, timedelta]
) -> list[ReceivedMessage]:
    readable = []
    for message in messages:
        try:
            decoded = envelope.decode(message.body)
        except envelope.EnvelopeUndecodable:
            continue
        readable.append((message, (decoded.job_id, decoded.dead_letter_no)))
    if not readable:
        return []
    with database.connection() as conn:
        verdicts = dead_letter.sweep(conn, [key for _, key in readable], budgets=budgets)
    return [message for (message, _), verdict in zip(readable, verdicts, strict=True) if verdict is SweepVerdict.DELETE]
