"""A lease session: one invocation's dealings with the ledger under one lease token."""

import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta

from skincare.database.connection import Connection, Database
from skincare.deployment.providers import Provider
from skincare.identifiers import JobId, LeaseToken, uuid7
from skincare.jobs.catalog import TYPES_OF
from skincare.jobs.models import Claim, Verdict
from skincare.jobs.repository import lease, pauses
from skincare.jobs.retry import Completed, Outcome, Retry, TimeLeft
from skincare.jobs.worker.batch import Ack, Fate, Fates, Redeliver
from skincare.observability import describe, logger

SOON = timedelta(seconds=5)
"""When a message comes again whose job was not judged: released, suspect without time, lost lease."""

RESERVE = timedelta(seconds=2)
"""Kept at the end of an invocation for the last settle, the visibility changes and the answer."""

_LEASE_BEYOND_DEADLINE = timedelta(seconds=5)
_SETTLE_AGAIN_AFTER_S = 0.5


class LeaseSession:
    """Claims jobs, collects how they ended, and settles them."""

    def __init__(self, database: Database, time_left: TimeLeft, *, release: str | None = None) -> None:
        self.time_left = time_left
        self._database = database
        self._release = release
        self._token = LeaseToken(uuid7())
        self._unsettled: dict[JobId, Outcome | None] = {}
        self._unsettled_since = 0.0

    @property
    def oldest_unsettled_s(self) -> float | None:
        """Seconds since the first of the unsettled jobs finished; None while there is none."""
        return time.monotonic() - self._unsettled_since if self._unsettled else None

    def turns(
        self, wanted: Mapping[JobId, int | None], *, may_start: Callable[[], bool]
    ) -> Iterator[tuple[Collection[JobId], Sequence[Claim] | None]]:
        """Claim all jobs at once, and then each suspect alone while one may start; yield who was asked for with it.

        The caller runs what it gets before it goes on. None in place of claims: the database was out of reach, and
        nothing is counted.
        """
        if not wanted:
            return
        claims = self._claim(wanted)
        yield wanted, claims
        suspects = [claim for claim in claims or () if claim.verdict is Verdict.SUSPECT]
        # Fewest crashes first: a neighbour of the culprit does not wait until the culprit is dead-lettered.
        for suspect in sorted(suspects, key=lambda claim: claim.crashes):
            if not may_start():
                return
            alone = {suspect.job_id: wanted[suspect.job_id]}
            yield alone, self._claim(alone, alone=True)

    def _claim(self, wanted: Mapping[JobId, int | None], *, alone: bool = False) -> list[Claim] | None:
        # The lease ends just after the invocation must have: whoever finds it run out knows of a crash.
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
            return None

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """Open a transaction in which jobs end together with their effects."""
        with self._database.connection() as conn, conn.transaction():
            yield conn

    def complete(self, conn: Connection, job_ids: Sequence[JobId]) -> set[JobId]:
        """Settle jobs as completed, in the caller's transaction; return those whose lease was lost."""
        if not job_ids:
            return set()
        return set(job_ids) - lease.settle(conn, dict.fromkeys(job_ids, Completed()), token=self._token)

    def add(self, job_id: JobId, outcome: Outcome | None) -> None:
        """Remember how a claimed job ended, None where it was not started; `settle` writes it down."""
        if not self._unsettled:
            self._unsettled_since = time.monotonic()
        self._unsettled[job_id] = outcome

    def abandoned(self) -> Redeliver:
        """The fate of a job whose lease runs out: its message comes just after that, and the claim sees a crash."""
        return Redeliver(self.time_left() + _LEASE_BEYOND_DEADLINE + SOON)

    def settle(self) -> Fates:
        """Write down what has finished, in one statement; nothing is decided where the database was out of reach."""
        outcomes = self._unsettled
        try:
            with self._database.connection() as conn:
                _hold_stopped_providers(conn, outcomes.values())
                hit = lease.settle(conn, outcomes, token=self._token)
        except Exception as error:  # noqa: BLE001  what is not written down must not end the invocation
            logger.warning("batch.settle_failed", jobs=len(outcomes), error=describe(error))
            self._unsettled_since = time.monotonic()
            return {}
        self._unsettled = {}
        return {job_id: _fate(job_id, outcome, hit=job_id in hit) for job_id, outcome in outcomes.items()}

    def settle_all(self, *, until: timedelta) -> Fates:
        """Settle what is left, again and again until that much time is left; give up on the rest.

        What stays unsettled is claimed again after its lease, as a crash: its effect is guarded by its
        own constraint, so running it twice is safe where losing it is not.
        """
        pause = threading.Event()
        fates: dict[JobId, Fate] = {}
        while self._unsettled:
            fates |= self.settle()
            if self._unsettled and self.time_left() <= until:
                fates |= dict.fromkeys(self._unsettled, self.abandoned())
                self._unsettled = {}
            elif self._unsettled:
                pause.wait(_SETTLE_AGAIN_AFTER_S)
        return fates


def lease_lost(job_id: JobId) -> Redeliver:
    """Return the fate of a job that somebody else decides about by now."""
    logger.warning("job.lease_lost", job_id=job_id)
    return Redeliver(SOON)


def _hold_stopped_providers(conn: Connection, outcomes: Iterable[Outcome | None]) -> None:
    """Pause each provider that refused everything; before its jobs are settled, so that none comes again too early."""
    refusals = {each.stopped: each.error_class for each in outcomes if isinstance(each, Retry) and each.stopped}
    for provider, error_class in sorted(refusals.items()):
        if pauses.hold_provider(conn, provider, job_types=TYPES_OF[Provider(provider)], reason=error_class):
            logger.error("provider.paused", provider=provider, error_class=error_class)


def _fate(job_id: JobId, outcome: Outcome | None, *, hit: bool) -> Fate:
    match outcome:
        case _ if not hit:
            return lease_lost(job_id)
        case Retry():
            return Redeliver(outcome.delay)
        case None:
            logger.info("job.handed_back", job_id=job_id)
            return Redeliver(SOON, failed=False)
        case _:
            return Ack()
