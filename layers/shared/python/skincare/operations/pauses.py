"""What the on-call engineer pauses and resumes, in words of the function `oncall`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from skincare.database.connection import Connection
from skincare.deployment.providers import Provider
from skincare.deployment.queues import QueueName
from skincare.errors import SkincareError
from skincare.jobs.catalog import BUDGETS, TYPES_OF
from skincare.jobs.models import Pause, PauseTarget
from skincare.jobs.repository.pauses import names_in_use


@dataclass(frozen=True)
class Pauses:
    """The pauses that are on, the oldest first."""

    pauses: tuple[Pause, ...]


@dataclass(frozen=True)
class PauseChange:
    """How many pauses a change began, extended or ended, its `counts` by outcome, and the pauses that are on now."""

    changed: int
    counts: Mapping[str, int]
    pauses: tuple[Pause, ...]


class NothingToPause(SkincareError):
    """No queue, job type or provider has this name; `field` is the one of the request."""

    def __init__(self, field: str, known: Sequence[str]) -> None:
        super().__init__("there is nothing of this name to pause")
        self.fields = {field: f"must be one of {', '.join(sorted(known))}"}


def types_of(conn: Connection, target: PauseTarget) -> list[str] | None:
    """Return the job types that a type or provider means, None for a queue and for all. Raises `NothingToPause`.

    A queue or type that this release does not know counts where unfinished jobs have it, as after a rollback.
    """
    match target.scope:
        case "queue":
            known = {name.value for name in QueueName}
        case "type":
            known = set(BUDGETS)
        case "provider":
            return sorted(TYPES_OF[Provider(target.name)])
        case _:
            return None
    if target.name not in known and target.name not in names_in_use(conn, target.scope):
        raise NothingToPause("job_type" if target.scope == "type" else target.scope, sorted(known))
    return [target.name] if target.scope == "type" else None
