"""The worker of one queue: decode, claim, run, settle, and say which messages shall come again.

A worker of our own and not a per-record processor, because a batch is claimed in one statement and
settled in one statement, and because a job that kills its process must not take its neighbours along.
It is generic over the App that it hands to the handlers.
"""

import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from datetime import timedelta

from skincare.database.connection import Database
from skincare.deployment.queues import QueueLimits
from skincare.identifiers import JobId
from skincare.jobs.models import Claim, Verdict
from skincare.jobs.ports import QueuePair, ReceivedMessage
from skincare.jobs.registry import Registry
from skincare.jobs.retry import TimeLeft
from skincare.jobs.worker.attempt import Attempt, attempt
from skincare.jobs.worker.batch import Ack, Batch, BatchResult, Fate, Redeliver, Unprocessable
from skincare.jobs.worker.batch_metrics import BatchMetrics
from skincare.jobs.worker.consumer import consume
from skincare.jobs.worker.delivery import delete_done, leave_process, set_visibility
from skincare.jobs.worker.lease_session import RESERVE, SOON, LeaseSession
from skincare.jobs.worker.unprocessable import UnprocessableMessages
from skincare.observability import logger

_SETTLE_WITHIN_S = 1.0
_JOB_UNKNOWN = Unprocessable("JobUnknown", "job_unknown: the ledger has no such job", may_pass=False)


class Worker[A]:
    """The worker of one queue; lives as long as its process. `measured` gets the metrics of each batch.

    `leave` ends the process at once.
    """

    def __init__(
        self,
        app: A,
        *,
        registry: Registry[A],
        database: Database,
        queue: QueuePair,
        limits: QueueLimits,
        release: str | None = None,
        measured: Callable[[BatchMetrics], None] = lambda _: None,
        leave: Callable[[], None] = leave_process,
    ) -> None:
        self._app = app
        self._registry = registry
        self._database = database
        self._source = queue.source
        self._limits = limits
        self._release = release
        self._unprocessable = UnprocessableMessages(database, queue.dead_letters)
        self._measured = measured
        self._leave = leave
        self._threads = ThreadPoolExecutor(limits.threads, thread_name_prefix="handler")

    def consume(self, stop: threading.Event) -> None:
        """Work until `stop` is set, and then until everything that ran is finished or released.

        When a handler hung, the process ends, for its thread would go on.
        """
        if not consume(self._source, self.run, limits=self._limits, stop=stop):
            self._leave()

    def answer(self, messages: Sequence[ReceivedMessage], *, time_left: TimeLeft) -> list[str]:
        """Work through a batch, set when messages come again, and return their ids."""
        return self.deliver(self.run(messages, time_left=time_left))

    def deliver(self, result: BatchResult) -> list[str]:
        """Set when messages come again, and return their ids.

        When a handler hung, its thread would go on in the next invocation, so the process ends here and
        deletes what is done itself: an invocation that ends without an answer reports every message as failed.
        """
        set_visibility(result, self._source)
        if result.hung:
            delete_done(result, self._source)
            self._leave()
        return list(dict.fromkeys(message.message_id for message, _ in result.released))

    def run(self, messages: Sequence[ReceivedMessage], *, time_left: TimeLeft) -> BatchResult:
        """Work through a batch; raises nothing because of a message, a handler, the database or the queue."""
        batch = Batch.decode(messages, known={entry.payload_class.job_type for entry in self._registry})
        invocation = _Invocation(self._app, self._registry, self._limits, self._threads)
        session = LeaseSession(self._database, time_left, release=self._release)
        invocation.work_through(batch, session)
        result = BatchResult(hung=invocation.hung)
        for message, fate in batch.fates(invocation.fates):
            if isinstance(fate, Unprocessable):
                # Here, at the end, for dead-lettering takes its time and nobody waits for these.
                has_time = not result.hung and time_left() > RESERVE
                fate = self._unprocessable.handle(message, fate, has_time=has_time)  # noqa: PLW2901
            result.add(message, fate)
        invocation.metrics.failed_messages = result.failed
        self._measured(invocation.metrics)
        return result


class _Invocation[A]:
    """What is decided while one batch is worked through."""

    def __init__(self, app: A, registry: Registry[A], limits: QueueLimits, threads: ThreadPoolExecutor) -> None:
        self.fates: dict[JobId, Fate] = {}
        self.metrics = BatchMetrics()
        self.hung = False
        self._app = app
        self._registry = registry
        self._limits = limits
        self._threads = threads

    def work_through(self, batch: Batch, session: LeaseSession) -> None:
        """Run what can run side by side, and then each suspect alone."""

        def may_start() -> bool:
            return not self.hung and self._time_to_start(session.time_left)

        for job_ids, claims in session.turns(batch.wanted, may_start=may_start):
            if claims is None:
                self.fates |= dict.fromkeys(job_ids, Redeliver())
            else:
                self._run(self._runnable(claims), session)

    def _runnable(self, claims: Sequence[Claim]) -> list[Claim]:
        """Decide about what cannot run, and return what can."""
        for claim in claims:
            match claim.verdict:
                case Verdict.RUN:
                    pass
                case Verdict.SUSPECT:  # its turn comes after the others', or with another delivery
                    self.fates[claim.job_id] = Redeliver(SOON, failed=False)
                case Verdict.BUSY | Verdict.EARLY:
                    self.fates[claim.job_id] = Redeliver(max(claim.wait, timedelta(seconds=1)), failed=False)
                case Verdict.DEAD:
                    logger.error(
                        "job.dead_letter", job_id=claim.job_id, job_type=claim.job_type, error_class="WorkerCrashed"
                    )
                    self.metrics.died(claim.job_type)
                    self.fates[claim.job_id] = Ack()
                case Verdict.PAUSED:
                    logger.info("job.paused", job_id=claim.job_id, job_type=claim.job_type)
                    self.fates[claim.job_id] = Ack()
                case Verdict.DONE:
                    self.fates[claim.job_id] = Ack()
                case Verdict.MISSING:
                    self.fates[claim.job_id] = _JOB_UNKNOWN
        return [claim for claim in claims if claim.verdict is Verdict.RUN]

    def _run(self, claims: Sequence[Claim], session: LeaseSession) -> None:
        """Run claimed jobs side by side and settle each soon after it finished."""
        waiting, running = deque(claims), dict[Future[Attempt], Claim]()
        while (waiting or running) and session.time_left() > RESERVE:
            self._start(waiting, running, session)
            if not running:
                break
            timeout = (session.time_left() - RESERVE).total_seconds()
            if session.oldest_unsettled_s is not None:
                timeout = min(timeout, _SETTLE_WITHIN_S - session.oldest_unsettled_s)
            for future in wait(running, timeout=max(timeout, 0), return_when=FIRST_COMPLETED).done:
                made = future.result()
                del running[future]
                self.metrics.ran(made)
                session.add(made.claim.job_id, made.outcome)
            if session.oldest_unsettled_s is not None and session.oldest_unsettled_s >= _SETTLE_WITHIN_S:
                self.fates |= session.settle()
        for claim in waiting:
            session.add(claim.job_id, None)
        self.fates |= session.settle_all(until=RESERVE / 2)
        for claim in running.values():
            logger.error("job.hung", job_id=claim.job_id, job_type=claim.job_type)
            self.fates[claim.job_id] = session.abandoned()
            self.hung = True

    def _start(self, waiting: deque[Claim], running: dict[Future[Attempt], Claim], session: LeaseSession) -> None:
        """Start as many handlers as there are threads, while each can still end in time."""
        while waiting and len(running) < self._limits.threads and self._time_to_start(session.time_left):
            claim = waiting.popleft()
            registration = self._registry.find(claim.job_type)
            if registration is None:  # the ledger knows better than the message what the job is
                session.add(claim.job_id, None)
            else:
                running[self._threads.submit(attempt, registration, claim, self._app)] = claim

    def _time_to_start(self, time_left: TimeLeft) -> bool:
        return time_left() >= self._limits.handler_limit + RESERVE
