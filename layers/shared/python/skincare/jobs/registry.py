"""Which handler runs which job type: visible, typed lines and never an import side effect."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from skincare.database.connection import Connection
from skincare.errors import PermanentError
from skincare.jobs.catalog import JobPayload
from skincare.jobs.models import DueJob


class PayloadInvalid(PermanentError):
    """A payload lacks a field or holds a malformed one; names the fields, never their values."""


@dataclass(frozen=True)
class Handled[P]:
    """What a batch handler did with the jobs that it was given.

    `left` are payloads for which it wrote nothing: their jobs run one by one. For the others, `set_off` are the jobs
    that it enqueued, to be published, and `lines` what is to be logged, names with fields: both after COMMIT.
    """

    left: Collection[P] = ()
    set_off: Sequence[DueJob] = ()
    lines: Sequence[tuple[str, Mapping[str, Any]]] = ()


type BatchHandler[P] = Callable[[Connection, Sequence[P]], Handled[P]]
"""Handles jobs of one type in the caller's transaction, or raises and has done nothing.

It gets no App, for nothing may call the network while a transaction is open. It locks rows in one order, whatever the
order of the payloads.
"""


@dataclass(frozen=True)
class Registration[A]:
    """One job type with its payload class and its handlers; without `batch` each job runs by itself."""

    payload_class: type[JobPayload]
    handler: Callable[[Any, A], None]
    batch: BatchHandler[Any] | None = None

    def run(self, payload: dict[str, Any], app: A) -> None:
        """Read the payload and handle the job; raises what the handler raises, or `PayloadInvalid`."""
        self.handler(self.read(payload), app)

    def read(self, payload: dict[str, Any]) -> JobPayload:
        """Read a payload; raises `PayloadInvalid`."""
        try:
            return self.payload_class.model_validate(payload)
        except ValidationError as error:
            fields = sorted({".".join(map(str, problem["loc"])) or "payload" for problem in error.errors()})
            raise PayloadInvalid(f"payload is malformed at {', '.join(fields)}") from None


class Registry[A]:
    """The handlers of one worker; A is the App that they are given."""

    def __init__(self) -> None:
        self._by_type: dict[str, Registration[A]] = {}

    def add[P: JobPayload](
        self, payload_class: type[P], handler: Callable[[P, A], None], *, batch: BatchHandler[P] | None = None
    ) -> None:
        """Register the handler of a job type, once; `batch` handles several of its jobs at once, in one transaction."""
        if payload_class.job_type in self._by_type:
            raise ValueError(f"{payload_class.job_type} is registered already")
        self._by_type[payload_class.job_type] = Registration(payload_class, handler, batch)

    def find(self, job_type: str) -> Registration[A] | None:
        """Return the registration of a type, or None where this release does not know it."""
        return self._by_type.get(job_type)

    def __iter__(self) -> Iterator[Registration[A]]:
        return iter(self._by_type.values())
