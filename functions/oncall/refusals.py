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
    "string_unicode": "must be text without half a surrogate pair",
    "string_pattern_mismatch": "must be of the form {pattern}",
    "string_type": "must be text",
    "bool_type": "must be true or false",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_parsing_size": "must be a whole number of fewer digits",
    "float_parsing": "must be a number",
    "list_type": "must be a list",
    "model_type": "must be an object",
    "literal_error": "must be {expected}",
    "enum": "must be {expected}",
    "is_instance_of": "must be of the type {class}",
    "uuid_type": "must be an id",
    "uuid_parsing": "must be an id",
    "datetime_type": "must be a time",
    "datetime_parsing": "must be a time",
    "datetime_from_date_parsing": "must be a time",
    "timezone_aware": "must be a time with its zone",
    "greater_than": "must be more than {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than": "must be less than {lt}",
    "less_than_equal": "must be at most {le}",
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
