"""What the on-call function answers: the thing that was asked for, or an error that names what was wrong."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, TypeAdapter

from oncall.request import Request

Code = Literal["request_malformed", "not_found", "not_possible", "database_unavailable", "failed"]


class Error(BaseModel):
    """Why there is no answer. `fields` says what is wrong with each field of a malformed request."""

    model_config = ConfigDict(frozen=True)

    code: Code
    message: str
    fields: dict[str, str] = {}


class Refusal(BaseModel):
    """An answer that is an error; nothing was changed, but by an operation that failed half-way (code "failed")."""

    model_config = ConfigDict(frozen=True)

    ok: Literal[False] = False
    error: Error


def success(request: Request, found: object) -> dict[str, Any]:
    """Return the JSON of an answer."""
    return {"ok": True, "answer": TypeAdapter(type(request).answer).dump_python(found, mode="json")}


def refusal(code: Code, message: str, fields: dict[str, str] | None = None) -> dict[str, Any]:
    """Return the JSON of an error."""
    return Refusal(error=Error(code=code, message=message, fields=fields or {})).model_dump(mode="json")


def read_answer(request: Request, given: Any) -> Any:
    """Return what a request's class says that it is answered with, or a `Refusal`. Raises `ValidationError`."""
    if isinstance(given, dict) and given.get("ok") is True:
        return TypeAdapter(type(request).answer).validate_python(given.get("answer"))
    return Refusal.model_validate(given)
