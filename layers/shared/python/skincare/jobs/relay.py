"""The relay: puts on SQS whatever is due, and clears the dead-letter queues of what is waste."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from skincare.database.connection import Database
from skincare.deployment.queues import QueueName
from skincare.identifiers import new_job_id
from skincare.jobs import envelope
from skincare.jobs.catalog import JobPayload
from skincare.jobs.models import SweepVerdict
from skincare.jobs.ports import Queue, Queues, QueueUnavailable, ReceivedMessage
from skincare.jobs.publisher import Publisher
from skincare.jobs.repository import dead_letter, outbox, quarantine, timers
from skincare.jobs.retry import TimeLeft, leaving
from skincare.observability import describe, logger

TAKE_LIMIT = 500
_TIDY_LIMIT = 1000
_ENOUGH_TIME = timedelta(seconds=10)
_FOR_SWEEPS = timedelta(seconds=5)
"""What publishing leaves to the sweeps, however much is due."""
_FOREIGN = SweepVerdict.FOREIGN
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
    periodic_jobs: Sequence[JobPayload] = (),
) -> RelayReport:
    """Publish what is due until nothing is, each queue stops taking it, or time runs short; then sweep.

    First it schedules each periodic job that is not scheduled yet. A backlog that never ends leaves time to the sweeps,
    and what lies on one dead-letter queue leaves time to the others.
    Raises `DatabaseUnavailable`. Dying anywhere costs nothing: what was taken and not marked is due
    again after 60 s.
    """
    report = RelayReport()
    if periodic_jobs:
        with database.connection() as conn:
            for periodic_job in periodic_jobs:
                timers.insert_daily(conn, new_job_id(), periodic_job)
    _tidy(database, time_left)
    open_queues = set(queues)
    while open_queues and time_left() > _ENOUGH_TIME + _FOR_SWEEPS:
        with database.connection() as conn:
            due = outbox.take_due(conn, limit=TAKE_LIMIT, queues=sorted(open_queues))
        done = publisher.publish(due)
        report.sent += done.sent
        report.refused += done.refused
        report.unavailable += done.unavailable
        # One that does not take its messages now must not keep the others from theirs.
        open_queues -= done.unavailable_queues
        if len(due) < TAKE_LIMIT:
            break
    for others, (name, pair) in zip(range(len(queues) - 1, -1, -1), queues.items(), strict=True):
        theirs = max(time_left() - _ENOUGH_TIME, timedelta(0)) * others / (others + 1)
        report.swept[name] = sweep(
            pair.dead_letters,
            name=name,
            database=database,
            budgets=budgets,
            time_left=leaving(theirs, time_left),
        )
    logger.info(
        "relay.ran",
        sent=report.sent,
        refused=report.refused,
        unavailable=report.unavailable,
        swept=report.swept,
    )
    return report


def _tidy(database: Database, time_left: TimeLeft) -> None:
    while time_left() > _ENOUGH_TIME:
        with database.connection() as conn:
            if outbox.tidy_schedule(conn, limit=_TIDY_LIMIT) < _TIDY_LIMIT:
                return


def sweep(
    dead_letters: Queue, *, name: QueueName, database: Database, budgets: Mapping[str, timedelta], time_left: TimeLeft
) -> int:
    """Join what lies on a dead-letter queue with the ledger, delete what is waste, and return how many that were.

    What belongs to no job is waste once the quarantine has it. What stays is hidden while the sweep goes on, so
    that it comes across everything, and shown again at its end. The database is changed first: dying before the
    deletion only means that the next sweep finds the copy again.
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
        waste, foreign = _judge(messages, database=database, budgets=budgets)
        waste += _quarantine(name, foreign, database=database)
        kept += [message for message in messages if message not in waste]
        if waste:
            deleted += len(waste) - len(dead_letters.ack(waste))
    if kept:
        dead_letters.nack([(message, timedelta(0)) for message in kept])
    return deleted


type _Foreign = tuple[ReceivedMessage, str]
"""A message that belongs to no job, and why."""


def _judge(
    messages: list[ReceivedMessage], *, database: Database, budgets: Mapping[str, timedelta]
) -> tuple[list[ReceivedMessage], list[_Foreign]]:
    readable = []
    foreign: list[_Foreign] = []
    for message in messages:
        try:
            decoded = envelope.decode(message.body)
        except envelope.EnvelopeUndecodable as error:
            foreign.append((message, str(error)))
            continue
        readable.append((message, (decoded.job_id, decoded.dead_letter_no)))
    if not readable:
        return [], foreign
    with database.connection() as conn:
        verdicts = dead_letter.sweep(conn, [key for _, key in readable], budgets=budgets)
    judged = [(message, verdict) for (message, _), verdict in zip(readable, verdicts, strict=True)]
    foreign += [(message, "the ledger has no such job") for message, verdict in judged if verdict is _FOREIGN]
    return [message for message, verdict in judged if verdict is SweepVerdict.DELETE], foreign


def _quarantine(name: QueueName, foreign: list[_Foreign], *, database: Database) -> list[ReceivedMessage]:
    """Copy whole what belongs to no job; return what is kept safely, so that it may leave the queue."""
    kept = []
    for message, reason in foreign:
        try:
            with database.connection() as conn:
                number = quarantine.keep(
                    conn, name, message.body, message.attributes, binary=message.binary_attributes, reason=reason
                )
        except Exception as error:  # noqa: BLE001  one that cannot be kept stays, and must not stop the sweep
            logger.error("message.not_quarantined", queue=name, message_id=message.message_id, error=describe(error))
            continue
        logger.error("message.quarantined", queue=name, quarantine_id=number, reason=reason)
        kept.append(message)
    return kept
