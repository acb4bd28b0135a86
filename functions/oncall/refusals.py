"""Why a request is none: what is wrong with it, field by field."""

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from skincare.errors import SkincareError

_WORDS = {
    "missing": "is missing",
    "extra_forbidden": "is not known to this operation",
    "too_short": "is too short",
    "too_long": "is too long: at most {max_length}",
    "string_too_long": "is too long: at most {max_length} characters",
    "string_too_short": "is empty",
}


class RequestRefused(SkincareError):
    """A request that is none of these; names fields, never their values."""

    def __init__(self, fields: dict[str, str]) -> None:
        super().__init__("the request is malformed at " + ", ".join(fields))
        self.fields = fields


def broken_rules(error: ValidationError) -> dict[str, str]:
    """Return what is wrong by field, in our own words: pydantic's quote what was sent."""
    problems = error.errors(include_url=False, include_input=False)
    return {".".join(map(str, problem["loc"])) or "request": _rule(problem) for problem in problems}


def _rule(problem: ErrorDetails) -> str:
    kind = problem["type"]
    context = problem.get("ctx", {})
    if kind == "value_error":
        return str(context["error"])
    return _WORDS[kind].format_map(context) if kind in _WORDS else f"is malformed ({kind})"
