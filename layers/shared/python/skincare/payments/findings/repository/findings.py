"""What reconciliations found, until it is gone or a person has settled it."""

from collections.abc import Collection

from psycopg import Connection
from psycopg.rows import class_row

from skincare.payments.findings.models import Finding


def save(conn: Connection, findings: Collection[Finding]) -> int:
    """Write down what was found; return how many are new, or are here again."""
    row = conn.execute(
        """
        WITH found AS (
            SELECT DISTINCT ON (kind, subject) *
            FROM unnest(%(kinds)s::text[], %(subjects)s::text[], %(numbers)s::text[]) AS f (kind, subject, order_number)
            ORDER BY kind, subject
        ), known AS (
            SELECT r.kind, r.subject FROM reconciliation_findings r
            JOIN found f ON f.kind = r.kind AND f.subject = r.subject WHERE r.gone_at IS NULL
        ), saved AS (
            INSERT INTO reconciliation_findings AS r (kind, subject, order_number)
            SELECT kind, subject, order_number FROM found
            ON CONFLICT (kind, subject) DO UPDATE SET last_seen_at = now(), gone_at = NULL,
                first_seen_at = CASE WHEN r.gone_at IS NULL THEN r.first_seen_at ELSE now() END,
                settled_at = CASE WHEN r.gone_at IS NULL THEN r.settled_at END
        )
        SELECT (SELECT count(*) FROM found) - (SELECT count(*) FROM known)""",
        {
            "kinds": [finding.kind for finding in findings],
            "subjects": [finding.subject for finding in findings],
            "numbers": [finding.order_number for finding in findings],
        },
    ).fetchone()
    return 0 if row is None else int(row[0])


def open_findings(conn: Connection, *, limit: int) -> list[Finding]:
    """Return what was found, is not gone and nobody has settled, longest first."""
    cur = conn.cursor(row_factory=class_row(Finding))
    cur.execute(
        """
        SELECT kind, subject, order_number, first_seen_at, id FROM reconciliation_findings
        WHERE gone_at IS NULL AND settled_at IS NULL ORDER BY first_seen_at, kind, subject LIMIT %(limit)s""",
        {"limit": limit},
    )
    return cur.fetchall()


def count_open(conn: Connection) -> int:
    """Count the open findings, without those that are counted as events already: one thing rings once."""
    row = conn.execute("""
        SELECT count(*) FROM reconciliation_findings
        WHERE gone_at IS NULL AND settled_at IS NULL AND kind NOT IN ('event_not_applied', 'event_quarantined')
        """).fetchone()
    return 0 if row is None else int(row[0])


def settle(conn: Connection, finding_id: int) -> bool:
    """Note that a person has dealt with a finding; False where none is open under this number."""
    cur = conn.execute(
        """
        UPDATE reconciliation_findings SET settled_at = now()
        WHERE id = %(id)s AND gone_at IS NULL AND settled_at IS NULL""",
        {"id": finding_id},
    )
    return cur.rowcount == 1


def reopen(conn: Connection, finding_id: int) -> bool:
    """Take back that a person has dealt with a finding; False where none is settled under this number."""
    cur = conn.execute(
        "UPDATE reconciliation_findings SET settled_at = NULL WHERE id = %(id)s AND settled_at IS NOT NULL",
        {"id": finding_id},
    )
    return cur.rowcount == 1
