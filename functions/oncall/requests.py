"""What the on-call function can be asked: the requests of all modules, read strictly."""

import json
import re

from pydantic import ValidationError

from oncall import (
    customer_requests,
    dead_letter_requests,
    job_requests,
    mail_requests,
    pause_requests,
    payment_requests,
    retention_requests,
    stock_requests,
)
from oncall.refusals import RequestRefused, broken_rules
from oncall.request import Request

_MODULES = (
    customer_requests,
    dead_letter_requests,
    job_requests,
    mail_requests,
    pause_requests,
    payment_requests,
    retention_requests,
    stock_requests,
)

REQUESTS: tuple[type[Request], ...] = tuple(
    value
    for module in _MODULES
    for value in vars(module).values()
    if isinstance(value, type) and issubclass(value, Request) and "operation" in value.model_fields
)
OPERATIONS = {request.model_fields["operation"].default: request for request in REQUESTS}

_HALF = re.compile("[\ud800-\udfff]")


def read(event: object) -> Request:
    """Read the event of an invocation as one of `REQUESTS`. Raises `RequestRefused`."""
    if not isinstance(event, dict):
        raise RequestRefused({"request": "must be an object"})
    name = event.get("operation")
    if not isinstance(name, str) or name not in OPERATIONS:
        raise RequestRefused({"operation": f"must be one of {', '.join(OPERATIONS)}"})
    if halves := {field: "must be text without half a surrogate pair" for field in event if _has_half(event[field])}:
        raise RequestRefused(halves)
    try:
        # From JSON: what is strict must still read a UUID and a time from text.
        return OPERATIONS[name].model_validate_json(json.dumps(event))
    except ValidationError as error:
        raise RequestRefused(broken_rules(error)) from None


def _has_half(value: object) -> bool:
    # A parser of JSON refuses it without saying where it is.
    return _HALF.search(json.dumps(value, ensure_ascii=False)) is not None
