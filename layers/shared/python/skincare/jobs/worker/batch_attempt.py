"""A batch attempt: one run of a batch handler, whose effects and the end of its jobs commit together or not at all."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from skincare.identifiers import JobId
from skincare.jobs.models import Claim, DueJob
from skincare.jobs.registry import BatchHandler, Handled, Registration
from skincare.jobs.retry import Completed
from skincare.jobs.worker.attempt import Attempt
from skincare.jobs.worker.lease_session import LeaseSession
from skincare.observability import describe, logger, trace

Publish = Callable[[Sequence[DueJob]], None]
"""Publishes jobs that a committed transaction enqueued; raises nothing."""

_JOBS_IN_A_LINE = 10


@dataclass(frozen=True)
class BatchAttempt:
    """What became of each job that a batch handler was given."""

    completed: Sequence[Attempt] = ()
    """Settled, together with their effects."""
    lost: Sequence[Claim] = ()
    """Somebody else decides about them now."""
    one_by_one: Sequence[Claim] = ()
    """Nothing of them was written: each is to run by itself, in the attempt that it was claimed for."""


class _LeasesLost(Exception):
    """Jobs of the batch are not ours to end any more."""

    def __init__(self, job_ids: set[JobId]) -> None:
        super().__init__(f"{len(job_ids)} leases were lost")
        self.job_ids = job_ids


def attempt_batch[A](
    registration: Registration[A],
    handler: BatchHandler[Any],
    claims: Sequence[Claim],
    session: LeaseSession,
    publish: Publish,
) -> BatchAttempt:
    """Run a batch handler in its thread. One job that fails, or whose lease is lost, rolls back all of them."""
    started = time.monotonic()
    logger.thread_safe_append_keys(job_type=registration.payload_class.job_type)
    try:
        completed, left, handled = _complete(registration, handler, claims, session)
    except _LeasesLost as error:
        _log_rollback(error, claims)
        return BatchAttempt(
            lost=[claim for claim in claims if claim.job_id in error.job_ids],
            one_by_one=[claim for claim in claims if claim.job_id not in error.job_ids],
        )
    except BaseException as error:  # noqa: BLE001  which of the jobs it was shows when each runs by itself
        logger.debug("jobs.trace", frames=trace(error))
        _log_rollback(error, claims)
        return BatchAttempt(one_by_one=claims)
    else:
        duration = timedelta(seconds=time.monotonic() - started)
        try:
            _log_completed(completed, duration)
            for name, fields in handled.lines:
                logger.info(name, **fields)
            if handled.set_off:
                publish(handled.set_off)
        except Exception as error:  # noqa: BLE001  what is committed stands, whatever becomes of the news
            logger.warning("jobs.news_failed", error=describe(error))
        return BatchAttempt(
            completed=[Attempt(claim, Completed(), duration) for claim in completed],
            one_by_one=left,
        )
    finally:
        logger.thread_safe_clear_keys()


def _complete[A](
    registration: Registration[A], handler: BatchHandler[Any], claims: Sequence[Claim], session: LeaseSession
) -> tuple[Sequence[Claim], Sequence[Claim], Handled[Any]]:
    """Return what was completed, what was left, and what the handler says; raises, and then nothing was written."""
    payloads = [registration.read(claim.payload) for claim in claims]
    with session.transaction() as conn:
        handled = handler(conn, payloads)
        completed, left = list[Claim](), list[Claim]()
        for claim, payload in zip(claims, payloads, strict=True):
            (left if payload in handled.left else completed).append(claim)
        lost = session.complete(conn, [claim.job_id for claim in completed])
        if lost:
            raise _LeasesLost(lost)
    return completed, left, handled


def _log_completed(claims: Sequence[Claim], duration: timedelta) -> None:
    """Log in lines of ten jobs: a line each costs more than their part of the statements."""
    for start in range(0, len(claims), _JOBS_IN_A_LINE):
        logger.info(
            "jobs.completed",
            duration_ms=round(duration / timedelta(milliseconds=1)),
            jobs=[
                {
                    "job_id": claim.job_id,
                    "order_number": claim.order_number,
                    "job_request_id": claim.request_id,
                    "attempt": claim.attempts,
                    "queue_s": round(claim.age.total_seconds(), 3),
                }
                for claim in claims[start : start + _JOBS_IN_A_LINE]
            ],
        )


def _log_rollback(error: BaseException, claims: Sequence[Claim]) -> None:
    logger.warning("jobs.rolled_back", jobs=len(claims), error_class=type(error).__name__, error=describe(error))
