"""Puts jobs on SQS and marks them: what the process that enqueued a job and the relay both do."""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from skincare.database.connection import Database
from skincare.deployment.queues import QueueName
from skincare.jobs.envelope import Envelope
from skincare.jobs.models import DueJob
from skincare.jobs.ports import EnqueueFailure, OutgoingMessage, Queue, Queues
from skincare.jobs.repository import outbox
from skincare.observability import describe, logger

_JOBS_IN_A_LINE = 10
_ILLEGAL = re.compile("[\x00-\x1f\ud800-\udfff\ufffe\uffff]")


@dataclass
class PublishReport:
    """How many jobs were sent, refused for good, or not taken this time."""

    sent: int = 0
    refused: int = 0
    unavailable: int = 0
    unavailable_queues: set[QueueName] = field(default_factory=set)
    """The queues that did not take all of theirs."""


class Publisher:
    """Sends due jobs and records that they were sent."""

    def __init__(self, database: Database, queues: Queues) -> None:
        self._database = database
        self._queues = queues

    def publish_now(self, jobs: Sequence[DueJob], *, taken: bool = False) -> None:
        """Send jobs right after the COMMIT that made them: one try, and never an error.

        The caller has its success whatever happens here. A send is not marked: the insert has left a worker two minutes
        to claim the job, and after those the relay sends it again. `taken` jobs were due already, so theirs is.
        """
        try:
            self._publish(jobs, mark=taken)
        except Exception as error:  # noqa: BLE001  the order stands: nothing may turn it into a failure
            logger.warning("publish.postponed", jobs=len(jobs), error=describe(error))

    def publish(self, jobs: Sequence[DueJob]) -> PublishReport:
        """Send taken jobs and mark what was sent, with no transaction open while sending.

        A job that SQS refuses as our fault is dead-lettered; one that it did not take stays due.
        Raises `DatabaseUnavailable` when the marks could not be written: the jobs are sent again then.
        """
        return self._publish(jobs, mark=True)

    def _publish(self, jobs: Sequence[DueJob], *, mark: bool) -> PublishReport:
        report = PublishReport()
        for queue, due in self._by_target(jobs):
            failures = _send(queue, due)
            sent = [job for index, job in enumerate(due) if index not in failures]
            if mark:
                self._mark(sent)
            _log_sent(sent)
            report.sent += len(sent)
            untaken = []
            for index, failure in failures.items():
                if failure.sender_fault:
                    report.refused += 1
                    self._settle_refusal(queue, due[index], failure)
                else:
                    untaken.append(due[index])
            if untaken:
                report.unavailable += len(untaken)
                report.unavailable_queues |= {job.queue for job in untaken}
                if not mark:
                    self._hand_to_relay(untaken)
        if report.unavailable:
            logger.warning("publish.postponed", jobs=report.unavailable)
        return report

    def _by_target(self, jobs: Sequence[DueJob]) -> Iterator[tuple[Queue, list[DueJob]]]:
        targets: defaultdict[tuple[str, bool], list[DueJob]] = defaultdict(list)
        for job in jobs:
            targets[job.queue, job.dead_letter is not None].append(job)
        for (_, dead), due in targets.items():
            pair = self._queues[due[0].queue]
            yield (pair.dead_letters if dead else pair.source), due

    def _mark(self, sent: list[DueJob]) -> None:
        if sent:
            with self._database.connection() as conn:
                outbox.mark_published(conn, sent)

    def _hand_to_relay(self, jobs: list[DueJob]) -> None:
        with self._database.connection() as conn:
            outbox.make_due(conn, jobs)

    def _settle_refusal(self, queue: Queue, job: DueJob, failure: EnqueueFailure) -> None:
        """Dead-letter a job whose message can never be sent; send a dead letter without its payload instead.

        The ledger has the payload, and a dead letter that does not arrive rings no alarm.
        """
        logger.error("job.publish_refused", job_id=job.job_id, job_type=job.job_type, code=failure.code)
        if job.dead_letter is not None:
            if not _send(queue, [replace(job, payload={})]):
                self._mark([job])
                _log_sent([job])
            return
        with self._database.connection() as conn:
            outbox.dead_letter_refused(
                conn, [job], error_class="PublishRefused", error_message=f"SQS refused the message ({failure.code})"
            )


def _log_sent(jobs: list[DueJob]) -> None:
    """Log one job by itself and several in lines of ten: a line each was a third of the relay's CPU."""
    if not jobs:
        return
    kind = "dead_letter_sent" if jobs[0].dead_letter else "published"
    if len(jobs) == 1:
        logger.info(f"job.{kind}", **_identity(jobs[0]))
        return
    for start in range(0, len(jobs), _JOBS_IN_A_LINE):
        logger.info(f"jobs.{kind}", jobs=[_identity(job) for job in jobs[start : start + _JOBS_IN_A_LINE]])


def _identity(job: DueJob) -> dict[str, Any]:
    return {
        "job_id": job.job_id,
        "job_type": job.job_type,
        "order_number": job.order_number,
        "job_request_id": job.request_id,
    }


def _send(queue: Queue, due: list[DueJob]) -> dict[int, EnqueueFailure]:
    failures = queue.enqueue([_message(job) for job in due])
    return {failure.index: failure for failure in failures}


def _message(job: DueJob) -> OutgoingMessage:
    dead = job.dead_letter
    envelope = Envelope(job.job_id, job.job_type, job.payload, dead.dead_letter_no if dead else None)
    # A plain attribute and not X-Ray's own header, which would let Lambda take a relay and its worker for a loop.
    attributes = {"request_id": job.request_id, "trace_id": job.trace_id, "order_number": job.order_number}
    if dead:
        attributes |= {
            "error_class": dead.error_class,
            "error_message": dead.error_message,
            "attempts": str(dead.attempts),
            "crashes": str(dead.crashes),
            "first_failed_at": _iso(dead.first_failed_at),
            "last_failed_at": _iso(dead.last_failed_at),
            "release": dead.release,
        }
    return OutgoingMessage(envelope.encode(), {name: legal_text(value) for name, value in attributes.items() if value})


def _iso(moment: datetime | None) -> str | None:
    return moment.isoformat(timespec="seconds") if moment else None


def legal_text(text: str) -> str:
    """Return the text as a message attribute can hold it: SQS refuses characters that XML 1.0 does not know."""
    return _ILLEGAL.sub(" ", text)
