"""What the on-call engineer may hold back, and let go on."""

from datetime import timedelta
from typing import Any

from skincare.database.connection import Connection
from skincare.deployment.providers import Provider
from skincare.deployment.queues import QueueName
from skincare.jobs.catalog import BUDGETS, TYPES_OF
from skincare.jobs.models import PauseTarget
from skincare.jobs.repository import pauses
from skincare.operations.audited import AuditedChanges
from skincare.operations.errors import NothingToPause
from skincare.operations.models import Change
from skincare.operations.pauses import PauseChange


class PauseChanges(AuditedChanges):
    """Which jobs wait for a person."""

    def pause(self, target: PauseTarget, *, lasts: timedelta | None) -> PauseChange:
        """Hold jobs back until somebody resumes, or for as long as said. Raises `NothingToPause`.

        Where the same is paused already, the later end counts.
        """
        identity, reason = self._caller.claimed_identity, self._reason
        assert reason is not None  # noqa: S101  the request has it

        def act(conn: Connection) -> Change:
            types = _types_of(conn, target)
            outcome = pauses.pause(conn, target, job_types=types, reason=reason, paused_by=identity, lasts=lasts)
            return Change(int(outcome != "already_paused"), counts={outcome: 1})

        request = _named(target) | {"lasts_s": None if lasts is None else int(lasts.total_seconds())}
        return self._with_pauses(self._do("pause_jobs", request, act))

    def resume(self, target: PauseTarget) -> PauseChange:
        """End a pause; the relay publishes what it held, unless another pause does."""

        def act(conn: Connection) -> Change:
            ended = pauses.resume(conn, target)
            return Change(int(ended), counts={"resumed" if ended else "not_paused": 1})

        return self._with_pauses(self._do("resume_jobs", _named(target), act))

    def _with_pauses(self, change: Change) -> PauseChange:
        with self._database.connection() as conn:
            return PauseChange(change.changed, change.counts, tuple(pauses.active(conn)))


def _types_of(conn: Connection, target: PauseTarget) -> list[str] | None:
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
    if target.name not in known and target.name not in pauses.names_in_use(conn, target.scope):
        raise NothingToPause("job_type" if target.scope == "type" else target.scope, sorted(known))
    return [target.name] if target.scope == "type" else None


def _named(target: PauseTarget) -> dict[str, Any]:
    return {"scope": target.scope, "name": target.name}
