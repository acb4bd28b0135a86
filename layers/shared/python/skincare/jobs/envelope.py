"""The envelope: what a message on SQS says about a job."""

import json
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from skincare.errors import SkincareError
from skincare.identifiers import JobId

_ENCODER = json.JSONEncoder(ensure_ascii=True, separators=(",", ":"))


class EnvelopeUndecodable(SkincareError):
    """A message body that is not one of our envelopes; the message says what is wrong, not what it holds."""


@dataclass(frozen=True)
class Envelope:
    """A job as SQS carries it. `dead_letter_no` is set on a dead letter only."""

    job_id: JobId
    job_type: str
    payload: dict[str, Any]
    dead_letter_no: int | None = None

    def encode(self) -> str:
        """Return the JSON body. ASCII only: SQS refuses control characters, and escapes pass."""
        body: dict[str, Any] = {"id": str(self.job_id), "type": self.job_type, "payload": self.payload}
        if self.dead_letter_no is not None:
            body["dead_letter_no"] = self.dead_letter_no
        return _ENCODER.encode(body)


def decode(body: str) -> Envelope:
    """Read a message body; raises `EnvelopeUndecodable`. Unknown members are ignored."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        raise EnvelopeUndecodable("the body is not JSON") from None
    if not isinstance(value, dict):
        raise EnvelopeUndecodable("the body is not a JSON object")
    job_type, payload, number = value.get("type"), value.get("payload"), value.get("dead_letter_no")
    if not isinstance(job_type, str) or not job_type:
        raise EnvelopeUndecodable("type is not a string")
    if not isinstance(payload, dict):
        raise EnvelopeUndecodable("payload is not an object")
    if number is not None and (type(number) is not int or not 0 <= number < 2**31):
        raise EnvelopeUndecodable("dead_letter_no is not a number")
    return Envelope(_job_id(value.get("id")), job_type, payload, number)


def job_id_in(body: str) -> JobId | None:
    """Return the job identifier that a body carries, also where the rest cannot be decoded."""
    try:
        value = json.loads(body)
        return _job_id(value.get("id")) if isinstance(value, dict) else None
    except (ValueError, RecursionError, EnvelopeUndecodable):
        return None


def _job_id(value: object) -> JobId:
    try:
        return JobId(UUID(value if isinstance(value, str) else ""))
    except ValueError:
        raise EnvelopeUndecodable("id is not a UUID") from None
