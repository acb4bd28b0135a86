"""When to try again, and when to stop: pure functions.

Backoff doubles from 2 s to 300 s; the budget of a job type is a time and not a count, because people
think in hours of outage (docs/decisions/0001-the-retry-budget-is-a-time.md).
"""

import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from skincare.errors import PermanentError, ProviderStopped, TransientError
from skincare.observability import describe

_LONGEST_S = 300
_FIRST_FULL_EXPONENT = 9  # 2 ** 9 is above 300
_JITTER = 0.2
_LONGEST_ASKED = timedelta(minutes=15)

TimeLeft = Callable[[], timedelta]
"""How long the invocation may still go on."""


def leaving(time: timedelta, time_left: TimeLeft) -> TimeLeft:
    """Return how long one may go on who leaves a time to others."""
    return lambda: time_left() - time


CRASH_LIMIT = 5
"""The crash that dead-letters a job: a poison job takes its process down only so often."""

CRASHED = "WorkerCrashed"
"""The class of error of a job that its crashes dead-lettered."""


@dataclass(frozen=True)
class Completed:
    """The handler finished."""


@dataclass(frozen=True)
class Retry:
    """Try again after `delay`."""

    delay: timedelta
    error_class: str
    error_message: str
    stopped: str | None = None
    """The provider that refuses everything."""


@dataclass(frozen=True)
class DeadLetter:
    """Stop: a person is needed."""

    error_class: str
    error_message: str


Outcome = Completed | Retry | DeadLetter


def backoff_delay(attempts: int, *, jitter: Callable[[], float] = random.random) -> timedelta:
    """Return the wait after that many attempts: 5 s for none, else 2^attempts s, at most 300 s, plus 0 to 20 %.

    `jitter` returns a number from 0 to 1; it spreads jobs that failed together.
    """
    if attempts <= 0:
        seconds = 5
    elif attempts >= _FIRST_FULL_EXPONENT:
        seconds = _LONGEST_S
    else:
        seconds = 2**attempts
    return timedelta(seconds=seconds * (1 + _JITTER * jitter()))


def decide(error: BaseException, *, attempts: int, age: timedelta, budget: timedelta) -> Retry | DeadLetter:
    """Decide what a failed attempt means for its job.

    `attempts` counts this one; `age` is how long the job has been tried, by the database's clock.
    Anything unforeseen is retried: a bug may be fixed and a service may come back. While a provider refuses
    everything, no job dies of its budget.
    """
    error_class, message = type(error).__name__, describe(error)
    if isinstance(error, PermanentError):
        return DeadLetter(error_class, message)
    stopped = error.provider if isinstance(error, ProviderStopped) else None
    if age >= budget and stopped is None:
        return DeadLetter(error_class, f"{message} (retry budget of {_hours(budget)} spent)")
    asked = error.retry_after if isinstance(error, TransientError) else None
    delay = backoff_delay(attempts) if asked is None else min(asked, _LONGEST_ASKED)
    return Retry(delay, error_class, message, stopped)


def _hours(budget: timedelta) -> str:
    return f"{budget / timedelta(hours=1):g} h"
