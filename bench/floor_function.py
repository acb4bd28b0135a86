"""The least that a checkout function can be: the bootstrap, the models, the driver, one connection, the statement."""

from typing import Any

import psycopg

import api.schemas  # noqa: F401  the models are part of the floor

_sessions: list[psycopg.Connection] = []


def lambda_handler(event: dict[str, Any], context: object) -> dict[str, bool]:  # noqa: ARG001  Lambda's shape
    """Run the event's `sql` with its `parameters`; `fingerprint` among them is hexadecimal."""
    if not _sessions:
        _sessions.append(psycopg.connect(event["conninfo"], autocommit=True, prepare_threshold=None))
    parameters = event["parameters"] | {"fingerprint": bytes.fromhex(event["parameters"]["fingerprint"])}
    return {"placed": _sessions[0].execute(event["sql"].encode(), parameters).fetchone() is not None}
