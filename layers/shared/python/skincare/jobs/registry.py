"""Which handler runs which job type: visible, typed lines and never an import side effect."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from skincare.errors import PermanentError
from skincare.jobs.catalog import JobPayload


class PayloadInvalid(PermanentError):
    """A payload lacks a field or holds a malformed one; names the fields, never their values."""


@dataclass(frozen=True)
class Registration[A]:
    """One job type with its payload class and its handler."""

    payload_class: type[JobPayload]
    handler: Callable[[Any, A], None]

    def run(self, payload: dict[str, Any], app: A) -> None:
        """Read the payload and handle the job; raises what the handler raises, or `PayloadInvalid`."""
        try:
            parsed = self.payload_class.model_validate(payload)
        except ValidationError as error:
            fields = sorted({".".join(map(str, problem["loc"])) or "payload" for problem in error.errors()})
            raise PayloadInvalid(f"payload is malformed at {', '.join(fields)}") from None
        self.handler(parsed, app)


class Registry[A]:
    """The handlers of one worker; A is the App that they are given."""

    def __init__(self) -> None:
        self._by_type: dict[str, Registration[A]] = {}

    def add[P: JobPayload](self, payload_class: type[P], handler: Callable[[P, A], None]) -> None:
        """Register the handler of a job type; a type has one handler."""
        if payload_class.job_type in self._by_type:
            raise ValueError(f"{payload_class.job_type} is registered already")
        self._by_type[payload_class.job_type] = Registration(payload_class, handler)

    def find(self, job_type: str) -> Registration[A] | None:
        """Return the registration of a type, or None where this release does not know it."""
        return self._by_type.get(job_type)

    def __iter__(self) -> Iterator[Registration[A]]:
        return iter(self._by_type.values())
