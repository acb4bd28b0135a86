"""Requests that hold jobs back and let them go on."""

from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from oncall.request import ChangeRequest, Name, Query, Reason
from skincare.deployment.providers import Provider
from skincare.jobs.models import PauseTarget
from skincare.operations.pauses import PauseChange, Pauses

if TYPE_CHECKING:
    from skincare.operations.changes import Changes
    from skincare.operations.queries import Queries

LONGEST_PAUSE_S = 30 * 86_400


class ListPauses(Query):
    """The pauses that are on."""

    answer: ClassVar[type[Any]] = Pauses
    operation: Literal["list_pauses"] = "list_pauses"

    def run(self, queries: "Queries") -> Pauses:
        return queries.pauses()


class _OfPauses(ChangeRequest):
    """Names one thing: a queue, a job type, a provider, or `everything`."""

    answer: ClassVar[type[Any]] = PauseChange
    queue: Name | None = None
    job_type: Name | None = None
    provider: Provider | None = None
    everything: bool = False
    reason: Reason

    @model_validator(mode="after")
    def _names_one_thing(self) -> Self:
        if len(self._targets()) != 1:
            raise ValueError("must name one of queue, job_type, provider and everything")
        return self

    def _targets(self) -> list[PauseTarget]:
        names = {"queue": self.queue, "type": self.job_type, "provider": self.provider}
        named = [PauseTarget(scope, str(name)) for scope, name in names.items() if name is not None]
        return named + [PauseTarget("all")] * self.everything


class PauseJobs(_OfPauses):
    """Hold jobs back, for `lasts_s` seconds or until somebody resumes."""

    operation: Literal["pause_jobs"] = "pause_jobs"
    lasts_s: Annotated[int, Field(ge=60, le=LONGEST_PAUSE_S)] | None = None

    def run(self, changes: "Changes") -> PauseChange:
        return changes.pause(
            self._targets()[0], lasts=None if self.lasts_s is None else timedelta(seconds=self.lasts_s)
        )


class ResumeJobs(_OfPauses):
    """End a pause."""

    operation: Literal["resume_jobs"] = "resume_jobs"

    def run(self, changes: "Changes") -> PauseChange:
        return changes.resume(self._targets()[0])
