"""The audit: who changed what, when and why."""

from collections.abc import Mapping
from typing import Any

from psycopg import Connection
from psycopg.types.json import Jsonb

from skincare.operations.models import Caller


def record(
    conn: Connection,
    caller: Caller,
    *,
    operation: str,
    reason: str | None,
    request: Mapping[str, Any],
    counts: Mapping[str, int],
) -> None:
    """Write down a change, in its own transaction."""
    conn.execute(
        """
        INSERT INTO operations_audit (claimed_identity, invocation_id, operation, reason, request, counts)
        VALUES (%(identity)s, %(invocation)s, %(operation)s, %(reason)s, %(request)s, %(counts)s)""",
        {
            "identity": caller.claimed_identity,
            "invocation": caller.invocation_id,
            "operation": operation,
            "reason": reason,
            "request": Jsonb(dict(request)),
            "counts": Jsonb(dict(counts)),
        },
    )
