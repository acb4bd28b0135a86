"""Runs a batch of jobs: decode, claim, run, settle, and say which messages shall come again.

A runner of our own and not a per-record processor, because a batch is claimed in one statement and
settled in one statement, and because a job that kills its process must not take its neighbours along.
It is generic over the App that it hands to the handlers.
"""

import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from datetime import timedelta

from skincare.database.connection import Database
from skincare.jobs.batch import Batch
from skincare.jobs.measures import Measures
from skincare.jobs.models import Claim, Verdict
from skincare.jobs.ports import QueuePair, ReceivedMessage
from skincare.jobs.queues import QueueLimits
from skincare.jobs.registry import Registration, Registry
from skincare.jobs.retry import Completed, DeadLetter, Outcome, Retry, TimeLeft, decide
from skincare.jobs.shift import SOON, Shift
from skincare.jobs.unreadable import Unreadable
from skincare.observability import logger, trace

RESERVE = timedelta(seconds=2)
"""Kept at the end of an invocation for the last settle, the visibility changes and the answer."""

_SETTLE_WITHIN_S = 1.0


@dataclass(frozen=True)
class BatchResult:
    """What became of each message. `hung`: a handler still runs, so the process must not go on."""

    acked: list[ReceivedMessage]
    released: list[tuple[ReceivedMessage, timedelta]]
    hung: bool


class Runner[A]:
    """The worker of one queue; lives as long as its process. `measured` is told what each batch did."""

    def __init__(
        self,
        app: A,
        *,
        registry: Registry[A],
        database: Database,
        queue: QueuePair,
        limits: QueueLimits,
        release: str | None = None,
        measured: Callable[[Measures], None] = lambda _: None,
    ) -> None:
        self._app = app
        self._registry = registry
        self._database = database
        self._limits = limits
        self._release = release
        self._unreadable = Unreadable(database, queue.dead_letters)
        self._measured = measured
        self._threads = ThreadPoolExecutor(limits.threads, thread_name_prefix="handler")

    def run(self, messages: Sequence[ReceivedMessage], *, time_left: TimeLeft) -> BatchResult:
        """Work through a batch; raises nothing because of a message, a handler, the database or the queue."""
        batch = Batch.decode(messages, known={entry.payload_class.job_type for entry in self._registry})
        shift, measures = Shift(self._database, batch, time_left, release=self._release), Measures()
        runnable, suspects = self._sort(shift.claim(batch.wanted) if batch.wanted else [], batch, measures)
        hung = self._work(runnable, shift, measures)
        # Fewest crashes first: a neighbour of the culprit does not wait until the culprit is buried.
        for suspect in sorted(suspects, key=lambda claim: claim.crashes):
            if hung or not self._time_to_start(time_left):
                batch.release(suspect.job_id, SOON)
            else:
                claims = shift.claim({suspect.job_id: batch.wanted[suspect.job_id]}, alone=True)
                hung = self._work(self._sort(claims, batch, measures)[0], shift, measures)
        # Last, for burying takes its time, and nobody waits for these.
        for message, reason in batch.unreadable:
            self._unreadable.judge(batch, message, reason, may_bury=not hung and time_left() > RESERVE)
        measures.failed_messages = batch.failed
        self._measured(measures)
        return BatchResult(batch.acked, batch.released, hung)

    def _sort(self, claims: Sequence[Claim], batch: Batch, measures: Measures) -> tuple[list[Claim], list[Claim]]:
        """Decide about what cannot run now; return what runs and what must wait to be claimed alone."""
        runnable, suspects = [], []
        for claim in claims:
            match claim.verdict:
                case Verdict.RUN:
                    runnable.append(claim)
                case Verdict.SUSPECT:
                    suspects.append(claim)
                case Verdict.BUSY | Verdict.EARLY:
                    batch.release(claim.job_id, max(claim.wait, timedelta(seconds=1)))
                case Verdict.DEAD:
                    logger.error(
                        "job.dead_letter", job_id=claim.job_id, job_type=claim.job_type, error_class="WorkerCrashed"
                    )
                    measures.died(claim.job_type)
                    batch.ack(claim.job_id)
                case Verdict.DONE:
                    batch.ack(claim.job_id)
                case Verdict.MISSING:
                    self._unreadable.unknown(batch, claim.job_id)
        return runnable, suspects

    def _work(self, claims: Sequence[Claim], shift: Shift, measures: Measures) -> bool:
        """Run claimed jobs side by side and settle each soon after it finished; True where one hung."""
        waiting, running = deque(claims), dict[Future[tuple[Outcome, timedelta]], Claim]()
        while (waiting or running) and shift.time_left() > RESERVE:
            while waiting and len(running) < self._limits.threads:
                if not self._time_to_start(shift.time_left):
                    break
                claim = waiting.popleft()
                registration = self._registry.find(claim.job_type)
                if registration is None:  # the ledger knows better than the message what the job is
                    shift.hand_back(claim)
                else:
                    running[self._threads.submit(_execute, registration, claim, self._app)] = claim
            if not running:
                break
            patience = (shift.time_left() - RESERVE).total_seconds()
            if shift.oldest_unsettled_s is not None:
                patience = min(patience, _SETTLE_WITHIN_S - shift.oldest_unsettled_s)
            for future in wait(running, timeout=max(patience, 0), return_when=FIRST_COMPLETED).done:
                claim, (outcome, duration) = running.pop(future), future.result()
                measures.ran(claim, outcome, duration)
                shift.finished(claim, outcome)
            if shift.oldest_unsettled_s is not None and shift.oldest_unsettled_s >= _SETTLE_WITHIN_S:
                shift.settle()
        for claim in waiting:
            shift.hand_back(claim)
        shift.settle_all(until=RESERVE / 2)
        for claim in running.values():
            logger.error("job.hung", job_id=claim.job_id, job_type=claim.job_type)
            shift.abandon(claim.job_id)
        return bool(running)

    def _time_to_start(self, time_left: TimeLeft) -> bool:
        return time_left() >= self._limits.handler_limit + RESERVE


def _execute[A](registration: Registration[A], claim: Claim, app: A) -> tuple[Outcome, timedelta]:
    """Run one handler in its thread; turn whatever it does into an outcome, and say how long it took."""
    started = time.monotonic()
    logger.thread_safe_append_keys(
        job_id=str(claim.job_id),
        job_type=claim.job_type,
        order_number=claim.order_number,
        request_id=claim.request_id,
        trace_id=claim.trace_id,
        attempt=claim.attempts,
    )
    try:
        outcome = _outcome(registration, claim, app, started)
        duration = timedelta(seconds=time.monotonic() - started)
        duration_ms = round(duration / timedelta(milliseconds=1))
        match outcome:
            case Completed():
                logger.info("job.completed", duration_ms=duration_ms, queue_s=round(claim.age.total_seconds(), 3))
            case Retry():
                logger.warning(
                    "job.retry_scheduled",
                    duration_ms=duration_ms,
                    delay_s=round(outcome.delay.total_seconds(), 1),
                    error_class=outcome.error_class,
                    error=outcome.error_message,
                )
            case DeadLetter():
                logger.error(
                    "job.dead_letter",
                    duration_ms=duration_ms,
                    error_class=outcome.error_class,
                    error=outcome.error_message,
                )
        return outcome, duration
    finally:
        logger.thread_safe_clear_keys()


def _outcome[A](registration: Registration[A], claim: Claim, app: A, started: float) -> Outcome:
    try:
        registration.run(claim.payload, app)
    except BaseException as error:  # noqa: BLE001  a handler must not be able to end its neighbours' invocation
        logger.debug("job.trace", frames=trace(error))
        return decide(
            error,
            attempts=claim.attempts,
            age=claim.age + timedelta(seconds=time.monotonic() - started),
            budget=registration.payload_class.budget,
        )
    return Completed()
