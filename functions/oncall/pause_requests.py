"""Requests that hold jobs back and let them go on."""

from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from oncall.request import ChangeRequest, Name, Reason, Request
from skincare.deployment.providers import Provider
from skincare.jobs.models import PauseTarget
from skincare.operations.pauses import PauseChange, Pauses

LONGEST_PAUSE_S = 30 * 86_400


class _PauseRequest(ChangeRequest):
    """Names one thing: a queue, a job type, a provider, or `everything`."""

    answer: ClassVar[type[Any]] = PauseChange
    queue: Name | None = None
    job_type: Name | None = None
    provider: Provider | None = None
    everything: bool = False
    reason: Reason

    @model_validator(mode="after")
    def _names_one_thing(self) -> Self:
        if len(self._named()) != 1:
            raise ValueError("must name one of queue, job_type, provider and everything")
        return self

    @property
    def target(self) -> PauseTarget:
        return self._named()[0]

    def _named(self) -> list[PauseTarget]:
        names = {"queue": self.queue, "type": self.job_type, "provider": self.provider}
        named = [PauseTarget(scope, str(name)) for scope, name in names.items() if name is not None]
        return named + [PauseTarget("all")] * self.everything


class PauseJobs(_PauseRequest):
    """Hold jobs back, for `lasts_s` seconds or until somebody resumes."""

    operation: Literal["pause_jobs"] = "pause_jobs"
    lasts_s: Annotated[int, Field(ge=60, le=LONGEST_PAUSE_S)] | None = None


class ResumeJobs(_PauseRequest):
    """End a pause."""

    operation: Literal["resume_jobs"] = "resume_jobs"


class ListPauses(Request):
    """The pauses that are on."""

    answer: ClassVar[type[Any]] = Pauses
    operation: Literal["list_pauses"] = "list_pauses"


PAUSE_REQUESTS: tuple[type[Request], ...] = (PauseJobs, ResumeJobs, ListPauses)
