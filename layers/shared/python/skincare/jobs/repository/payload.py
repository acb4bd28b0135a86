"""What a job carries, read from the ledger's text."""

import json
from typing import Any

_DEEPEST = 50


def read_payload(text: str) -> dict[str, Any]:
    """Return a payload; an empty one where PostgreSQL holds what Python will not read, which no handler accepts.

    jsonb holds numbers of any length and nests deeper than Python's readers and writers go: one such row must not
    make its neighbours unreadable.
    """
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) and _is_flat(found, _DEEPEST) else {}


def _is_flat(value: object, levels: int) -> bool:
    match value:
        case dict() | list() if levels == 0:
            return False
        case dict():
            return all(_is_flat(each, levels - 1) for each in value.values())
        case list():
            return all(_is_flat(each, levels - 1) for each in value)
        case _:
            return True
