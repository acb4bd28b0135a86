"""A shift: one invocation's dealings with the ledger under one lease token."""

import threading
import time
from collections.abc import Mapping
from datetime import timedelta

from skincare.database.connection import Database
from skincare.identifiers import JobId, LeaseToken, uuid7
from skincare.jobs.batch import Batch
from skincare.jobs.models import Claim
from skincare.jobs.repository import lease
from skincare.jobs.retry import Outcome, Retry, TimeLeft, backoff_delay
from skincare.observability import describe, logger

SOON = timedelta(seconds=5)
"""When a message comes again whose job was not judged: handed back, suspect without time, lost lease."""

_LEASE_BEYOND_DEADLINE = timedelta(seconds=5)
_SETTLE_AGAIN_AFTER_S = 0.5


class Shift:
    """Claims jobs, collects how they ended, and settles them; tells the batch what became of each."""

    def __init__(self, database: Database, batch: Batch, time_left: TimeLeft, *, release: str | None = None) -> None:
        self.time_left = time_left
        self._database = database
        self._batch = batch
        self._release = release
        self._token = LeaseToken(uuid7())
        self._unsettled: dict[JobId, Outcome | None] = {}
        self._unsettled_since = 0.0

    @property
    def oldest_unsettled_s(self) -> float | None:
        """Seconds since the first of the unsettled jobs finished; None while there is none."""
        return time.monotonic() - self._unsettled_since if self._unsettled else None

    def claim(self, wanted: Mapping[JobId, int | None], *, alone: bool = False) -> list[Claim]:
        """Claim jobs; where the database is out of reach there is no claim, nothing is counted, and they come again.

        The lease ends just after the invocation must have: whoever finds it run out knows of a crash.
        """
        try:
            with self._database.connection() as conn:
                return lease.claim(
                    conn,
                    wanted,
                    token=self._token,
                    lease=self.time_left() + _LEASE_BEYOND_DEADLINE,
                    alone=alone,
                    release=self._release,
                )
        except Exception as error:  # noqa: BLE001  also a schema that a running deploy has not reached yet
            logger.warning("batch.claim_failed", jobs=len(wanted), error=describe(error))
            for job_id in wanted:
                self._batch.fail_each(job_id, lambda message: backoff_delay(message.receive_count))
            return []

    def finished(self, claim: Claim, outcome: Outcome) -> None:
        """Remember how a job ended; `settle` writes it down."""
        self._add(claim, outcome)

    def hand_back(self, claim: Claim) -> None:
        """Remember that a claimed job was not started."""
        self._add(claim, None)

    def abandon(self, job_id: JobId) -> None:
        """Let a job's lease run out: its message comes again just after that, and the claim will see a crash."""
        self._batch.fail(job_id, self.time_left() + _LEASE_BEYOND_DEADLINE + SOON)

    def settle(self) -> bool:
        """Write down what has finished, in one statement; False where the database was out of reach."""
        outcomes = self._unsettled
        try:
            with self._database.connection() as conn:
                hit = lease.settle(conn, outcomes, token=self._token)
        except Exception as error:  # noqa: BLE001  what is not written down must not end the invocation
            logger.warning("batch.settle_failed", jobs=len(outcomes), error=describe(error))
            self._unsettled_since = time.monotonic()
            return False
        self._unsettled = {}
        for job_id, outcome in outcomes.items():
            match outcome:
                case _ if job_id not in hit:
                    logger.warning("job.lease_lost", job_id=job_id)
                    self._batch.fail(job_id, SOON)
                case Retry():
                    self._batch.fail(job_id, outcome.delay)
                case None:
                    logger.info("job.handed_back", job_id=job_id)
                    self._batch.release(job_id, SOON)
                case _:
                    self._batch.ack(job_id)
        return True

    def settle_all(self, *, until: timedelta) -> None:
        """Settle what is left, again and again until that much time is left; give up on the rest.

        What stays unsettled is claimed again after its lease, as a crash: its effect is guarded by its
        own constraint, so running it twice is safe where losing it is not.
        """
        pause = threading.Event()
        while self._unsettled and not self.settle():
            if self.time_left() <= until:
                for job_id in self._unsettled:
                    self.abandon(job_id)
                self._unsettled = {}
                return
            pause.wait(_SETTLE_AGAIN_AFTER_S)

    def _add(self, claim: Claim, outcome: Outcome | None) -> None:
        if not self._unsettled:
            self._unsettled_since = time.monotonic()
        self._unsettled[claim.job_id] = outcome
