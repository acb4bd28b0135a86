"""An attempt: one run of a handler, and what it means for its job."""

import time
from dataclasses import dataclass
from datetime import timedelta

from skincare.jobs.models import Claim
from skincare.jobs.registry import Registration
from skincare.jobs.retry import Completed, DeadLetter, Outcome, Retry, decide
from skincare.observability import logger, trace


@dataclass(frozen=True)
class Attempt:
    """How a handler's run ended, and how long it took."""

    claim: Claim
    outcome: Outcome
    duration: timedelta


def attempt[A](registration: Registration[A], claim: Claim, app: A) -> Attempt:
    """Run one handler in its thread; turn whatever it does into an outcome."""
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
        return Attempt(claim, outcome, duration)
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
