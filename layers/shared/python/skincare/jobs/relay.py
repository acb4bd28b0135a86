"""The relay: puts on SQS whatever is due, and clears the dead-letter queues of what is waste."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from skincare.database.connection import Database
from skincare.identifiers import new_job_id
from skincare.jobs import envelope
from skincare.jobs.catalog import JobPayload
from skincare.jobs.models import SweepVerdict
from skincare.jobs.ports import Queue, Queues, QueueUnavailable, ReceivedMessage
from skincare.jobs.publisher import Publisher
from skincare.jobs.repository import dead_letter, outbox, timers
from skincare.jobs.retry import TimeLeft
from skincare.observability import logger

TAKE_LIMIT = 500
_ENOUGH_TIME = timedelta(seconds=10)
_HIDDEN = timedelta(seconds=60)
"""Longer than a sweep can take, so that no message is met twice in one."""


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
    chores: Sequence[JobPayload] = (),
) -> RelayReport:
    """Publish what is due until nothing is, SQS stops taking it, or time runs short; then sweep.

    First it sees to it that each chore is scheduled for its next time.
    Raises `DatabaseUnavailable`. Dying anywhere costs nothing: what was taken and not marked is due
    again after 60 s.
    """
    report = RelayReport()
    if chores:
        with database.connection() as conn:
            for chore in chores:
                timers.insert_daily(conn, new_job_id(), chore)
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
            report.swept[name] = sweep(pair.dead_letters, database=database, budgets=budgets, time_left=time_left)
    logger.info(
        "relay.ran",
        sent=report.sent,
        refused=report.refused,
        unavailable=report.unavailable,
        swept=report.swept,
    )
    return report


def sweep(dead_letters: Queue, *, database: Database, budgets: Mapping[str, timedelta], time_left: TimeLeft) -> int:
    """Join what lies on a dead-letter queue with the ledger, delete what is waste, and return how many that were.

    What stays is hidden while the sweep goes on, so that it comes across everything, and shown again at
    its end. The ledger is changed first: dying before the deletion only means that the next sweep finds
    the copy again.
    """
    kept: list[ReceivedMessage] = []
    deleted = 0
    while time_left() > _ENOUGH_TIME:
        try:
            messages = dead_letters.receive(limit=10, wait=timedelta(0), visibility=_HIDDEN)
        except QueueUnavailable:
            break
        if not messages:
            break
        waste = _waste(messages, database=database, budgets=budgets)
        kept += [message for message in messages if message not in waste]
        if waste:
            deleted += len(waste) - len(dead_letters.ack(waste))
    if kept:
        dead_letters.nack([(message, timedelta(0)) for message in kept])
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
