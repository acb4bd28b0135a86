"""Messages that belong to no job: kept whole until a person has dealt with them."""

import json
from collections.abc import Mapping
from hashlib import sha256
from types import MappingProxyType

from psycopg import Connection
from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from skincare.deployment.queues import QueueName
from skincare.jobs.models import QuarantinedMessage
from skincare.jobs.repository import LONGEST_REASON

_NONE: Mapping[str, str] = MappingProxyType({})


def keep(
    conn: Connection,
    queue: QueueName,
    body: str,
    attributes: Mapping[str, str],
    *,
    binary: Mapping[str, str] = _NONE,
    reason: str,
) -> int:
    """Keep a message once and return its number; met again, it waits for a person again.

    `binary` holds the attributes that are bytes, in base64. Messages that differ in an attribute are two.
    Only once this is committed may the message leave its queue.
    """
    row = conn.execute(
        """
        INSERT INTO quarantined_messages (queue, content_hash, body, attributes, binary_attributes, reason)
        VALUES (%(queue)s, %(hash)s, %(body)s, %(attributes)s, %(binary)s, %(reason)s)
        ON CONFLICT (content_hash) DO UPDATE SET last_found_at = now(), closed_at = NULL
        RETURNING id""",
        {
            "queue": queue,
            "hash": _hash(queue, body, attributes, binary),
            "body": body,
            "attributes": Jsonb(dict(attributes)),
            "binary": Jsonb(dict(binary)),
            "reason": reason[:LONGEST_REASON],
        },
    ).fetchone()
    assert row is not None  # noqa: S101  an upsert without a condition answers a row
    return int(row[0])


def waiting(conn: Connection, *, limit: int) -> list[QuarantinedMessage]:
    """Return the oldest messages that nobody has dealt with, without what they say."""
    cur = conn.cursor(row_factory=class_row(QuarantinedMessage))
    cur.execute(
        """
        SELECT id, queue, reason, octet_length(body) AS size_bytes, found_at, last_found_at
        FROM quarantined_messages WHERE closed_at IS NULL ORDER BY id LIMIT %(limit)s""",
        {"limit": limit},
    )
    return cur.fetchall()


def content(conn: Connection, message_id: int) -> tuple[QuarantinedMessage, str, dict[str, str], dict[str, str]] | None:
    """Return a message with its body, attributes and binary ones, whoever dealt with it; None where there is none."""
    row = conn.execute(
        """
        SELECT id, queue, reason, octet_length(body), found_at, last_found_at, body, attributes, binary_attributes
        FROM quarantined_messages WHERE id = %(id)s""",
        {"id": message_id},
    ).fetchone()
    return None if row is None else (QuarantinedMessage(*row[:6]), row[6], row[7], row[8])


def close(conn: Connection, message_id: int) -> bool:
    """Note that a person has dealt with a message; False where none waits under this number."""
    cur = conn.execute(
        "UPDATE quarantined_messages SET closed_at = now() WHERE id = %(id)s AND closed_at IS NULL", {"id": message_id}
    )
    return cur.rowcount == 1


def _hash(queue: QueueName, body: str, attributes: Mapping[str, str], binary: Mapping[str, str]) -> bytes:
    """Name a message by all it consists of; JSON, because its quotes keep the parts apart."""
    whole = json.dumps([queue, body, sorted(attributes.items()), sorted(binary.items())])
    return sha256(whole.encode()).digest()
