"""An invocation: which jobs of a batch run when, by themselves or together, and what becomes of each."""

from collections import defaultdict, deque
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from datetime import timedelta
from itertools import chain

from skincare.deployment.queues import QueueLimits
from skincare.identifiers import JobId
from skincare.jobs.models import Claim, Verdict
from skincare.jobs.registry import Registry
from skincare.jobs.retry import TimeLeft
from skincare.jobs.worker.attempt import Attempt, attempt
from skincare.jobs.worker.batch import Ack, Batch, Fate, Redeliver, Unprocessable
from skincare.jobs.worker.batch_attempt import BatchAttempt, Publish, attempt_batch
from skincare.jobs.worker.batch_metrics import BatchMetrics
from skincare.jobs.worker.lease_session import RESERVE, SOON, LeaseSession, lease_lost
from skincare.observability import logger

_SETTLE_WITHIN_S = 1.0
_JOB_UNKNOWN = Unprocessable("JobUnknown", "job_unknown: the ledger has no such job", may_pass=False)

type _Running = dict[Future[Attempt | BatchAttempt], Sequence[Claim]]
"""What runs, and the jobs that it runs."""


class Invocation[A]:
    """What is decided while one batch is worked through."""

    def __init__(
        self, app: A, registry: Registry[A], limits: QueueLimits, threads: ThreadPoolExecutor, publish: Publish
    ) -> None:
        self.fates: dict[JobId, Fate] = {}
        self.metrics = BatchMetrics()
        self.hung = False
        self._app = app
        self._registry = registry
        self._limits = limits
        self._threads = threads
        self._publish = publish

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
        running: _Running = {}
        waiting = self._start_batches(claims, running, session)
        while (waiting or running) and session.time_left() > RESERVE:
            self._start(waiting, running, session)
            if not running:
                break
            timeout = (session.time_left() - RESERVE).total_seconds()
            if session.oldest_unsettled_s is not None:
                timeout = min(timeout, _SETTLE_WITHIN_S - session.oldest_unsettled_s)
            for future in wait(running, timeout=max(timeout, 0), return_when=FIRST_COMPLETED).done:
                del running[future]
                waiting += self._ended(future.result(), session)
            if session.oldest_unsettled_s is not None and session.oldest_unsettled_s >= _SETTLE_WITHIN_S:
                self.fates |= session.settle()
        for claim in waiting:
            session.add(claim.job_id, None)
        self.fates |= session.settle_all(until=RESERVE / 2)
        for claim in chain.from_iterable(running.values()):
            logger.error("job.hung", job_id=claim.job_id, job_type=claim.job_type)
            self.fates[claim.job_id] = session.abandoned()
            self.hung = True

    def _start_batches(self, claims: Sequence[Claim], running: _Running, session: LeaseSession) -> deque[Claim]:
        """Start the batch handler of each type that has one and several jobs; return the jobs that run by themselves.

        A suspect was claimed alone, so it is never among them.
        """
        by_type = defaultdict[str, list[Claim]](list)
        for claim in claims:
            by_type[claim.job_type].append(claim)
        waiting = deque[Claim]()
        for job_type, several in by_type.items():
            registration = self._registry.find(job_type)
            handler = registration and registration.batch
            may_start = len(running) < self._limits.threads and self._time_to_start(session.time_left)
            if registration and handler and len(several) > 1 and may_start:
                future: Future[Attempt | BatchAttempt] = self._threads.submit(
                    attempt_batch, registration, handler, several, session, self._publish
                )
                running[future] = several
            else:
                waiting += several
        return waiting

    def _ended(self, made: Attempt | BatchAttempt, session: LeaseSession) -> Sequence[Claim]:
        """Note how an attempt ended; return the jobs that are to run by themselves after it."""
        if isinstance(made, Attempt):
            self.metrics.ran(made)
            session.add(made.claim.job_id, made.outcome)
            return ()
        for each in made.completed:
            self.metrics.ran(each)
            self.fates[each.claim.job_id] = Ack()
        for claim in made.lost:
            self.fates[claim.job_id] = lease_lost(claim.job_id)
        return made.one_by_one

    def _start(self, waiting: deque[Claim], running: _Running, session: LeaseSession) -> None:
        """Start as many handlers as there are threads, while each can still end in time."""
        while waiting and len(running) < self._limits.threads and self._time_to_start(session.time_left):
            claim = waiting.popleft()
            registration = self._registry.find(claim.job_type)
            if registration is None:  # the ledger knows better than the message what the job is
                session.add(claim.job_id, None)
            else:
                future: Future[Attempt | BatchAttempt] = self._threads.submit(attempt, registration, claim, self._app)
                running[future] = (claim,)

    def _time_to_start(self, time_left: TimeLeft) -> bool:
        return time_left() >= self._limits.handler_limit + RESERVE
