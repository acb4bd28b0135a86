"""What does not add up, in PostgreSQL: each statement looks at a bounded number of rows, by an index."""

from collections.abc import Collection
from datetime import timedelta
from typing import Any

from psycopg import Connection
from psycopg.rows import class_row

from skincare.payments.findings.models import LOOK_BACK, OWED, Finding, Owed, Piece, Place, Run

_LATE = timedelta(minutes=15)
_UNBOOKED = timedelta(days=3)
_STALE = timedelta(hours=12)
_MOST_FINDINGS = 200
"""Of one kind and one statement: more of them have one cause."""


def of_events(conn: Connection) -> Piece:
    """Look at payment events that wait, and at those that were given up though their order is here, and at refunds."""
    cur = conn.cursor(row_factory=class_row(Finding))
    cur.execute(
        """
        (
            SELECT 'event_not_applied' AS kind, e.id::text AS subject, e.order_number FROM payment_events e
            WHERE e.state = 'received' AND e.received_at < now() - interval '1 day'
            ORDER BY e.received_at LIMIT %(limit)s
        ) UNION ALL (
            SELECT 'event_quarantined', e.id::text, e.order_number FROM payment_events e
            WHERE e.state = 'quarantined' AND e.reviewed_at IS NULL AND e.received_at > now() - %(look_back)s
            ORDER BY e.received_at LIMIT %(limit)s
        ) UNION ALL (
            -- Somebody gave it up because it had no order, and now it has one: a restored database, a late answer.
            SELECT 'paid_event_set_aside', e.id::text, e.order_number
            FROM set_aside_events s JOIN payment_events e ON e.id = s.event_id
            JOIN orders o ON o.order_number = e.order_number
            WHERE s.set_aside_at > now() - %(look_back)s AND e.status = 'paid' AND NOT EXISTS (
                SELECT 1 FROM payments p WHERE p.gateway = e.gateway AND p.transaction_id = e.transaction_id
            )
            ORDER BY s.set_aside_at LIMIT %(limit)s
        ) UNION ALL (
            SELECT 'refund_not_booked', r.key, o.order_number FROM refunds r JOIN orders o ON o.id = r.order_id
            WHERE r.state IN ('requested', 'sent') AND r.created_at < now() - %(unbooked)s
            ORDER BY r.created_at LIMIT %(limit)s
        ) UNION ALL (
            -- Until its job is run again or discarded: who asked for it believes that the money goes back.
            SELECT 'refund_refused', r.key, o.order_number FROM refunds r JOIN orders o ON o.id = r.order_id
            WHERE r.state = 'refused' AND r.created_at > now() - %(look_back)s AND EXISTS (
                SELECT 1 FROM jobs j WHERE j.unique_key = 'send_refund:' || r.key AND j.publish_at IS NOT NULL
            )
            ORDER BY r.created_at LIMIT %(limit)s
        )""",
        {"look_back": LOOK_BACK, "unbooked": _UNBOOKED, "limit": _MOST_FINDINGS},
    )
    return Piece(tuple(cur))


def of_orders(conn: Connection, after: Place | None, *, limit: int) -> Piece:
    """Look at orders that were paid: whether their money, their mail and their invoice are there."""
    return _piece(
        conn,
        """
        WITH piece AS MATERIALIZED (
            SELECT o.id, o.order_number, o.status, o.total_rupiah, o.paid_at AS at FROM orders o
            WHERE o.paid_at > now() - %(look_back)s AND o.paid_at >= coalesce(%(at)s, now() - %(look_back)s)
                AND (%(at)s::timestamptz IS NULL OR (o.paid_at, o.id) > (%(at)s, %(id)s))
            ORDER BY o.paid_at, o.id LIMIT %(limit)s
        ), found (kind, subject, order_number) AS (
            (
                SELECT 'order_differs_from_payment', o.order_number, o.order_number
                FROM piece o LEFT JOIN payments p ON p.order_id = o.id AND p.pays_order
                WHERE o.status IS DISTINCT FROM CASE
                    WHEN p.id IS NULL OR p.amount_rupiah <> o.total_rupiah THEN NULL
                    WHEN p.refunded_rupiah = 0 THEN 'paid'
                    WHEN p.refunded_rupiah = p.amount_rupiah THEN 'refunded'
                    ELSE 'partially_refunded'
                END
                LIMIT %(most)s
            ) UNION ALL (
                SELECT CASE WHEN EXISTS (
                    SELECT 1 FROM jobs j WHERE j.order_number = o.order_number
                        AND j.job_type = 'send_payment_received_email' AND j.state = 'cancelled'
                ) THEN 'paid_without_mail' ELSE 'send_payment_received_email' END, o.order_number, o.order_number
                FROM piece o
                WHERE o.status IN ('paid', 'partially_refunded') AND o.at < now() - %(late)s AND NOT EXISTS (
                    SELECT 1 FROM order_notifications n
                    WHERE n.order_id = o.id AND n.notification_type = 'payment_received'
                ) AND NOT EXISTS (
                    SELECT 1 FROM jobs j WHERE j.order_number = o.order_number
                        AND j.job_type = 'send_payment_received_email' AND j.publish_at IS NOT NULL
                )
                LIMIT %(most)s
            ) UNION ALL (
                SELECT CASE WHEN EXISTS (
                    SELECT 1 FROM jobs j WHERE j.order_number = o.order_number
                        AND j.job_type = 'generate_invoice_pdf' AND j.state = 'cancelled'
                ) THEN 'paid_without_invoice' ELSE 'generate_invoice_pdf' END, o.order_number, o.order_number
                FROM piece o
                WHERE o.status <> 'pending' AND o.at < now() - %(late)s AND NOT EXISTS (
                    SELECT 1 FROM invoices i WHERE i.order_id = o.id AND i.made_at IS NOT NULL
                ) AND NOT EXISTS (
                    SELECT 1 FROM jobs j WHERE j.order_number = o.order_number
                        AND j.job_type = 'generate_invoice_pdf' AND j.publish_at IS NOT NULL
                )
                LIMIT %(most)s
            )
        )""",
        after,
        limit,
    )


def of_payments(conn: Connection, after: Place | None, *, limit: int) -> Piece:
    """Look at payments: whether each pays its order or is somebody's task."""
    return _piece(
        conn,
        """
        WITH piece AS MATERIALIZED (
            SELECT p.*, p.updated_at AS at FROM payments p
            WHERE p.updated_at > now() - %(look_back)s AND p.updated_at >= coalesce(%(at)s, now() - %(look_back)s)
                AND (%(at)s::timestamptz IS NULL OR (p.updated_at, p.id) > (%(at)s, %(id)s))
            ORDER BY p.updated_at, p.id LIMIT %(limit)s
        ), found (kind, subject, order_number) AS (
            (
                -- Money that neither pays its order nor is anybody's task.
                SELECT 'money_without_task', p.gateway || ':' || p.transaction_id, o.order_number
                FROM piece p JOIN orders o ON o.id = p.order_id
                WHERE NOT p.pays_order AND p.amount_rupiah > p.refunded_rupiah + p.charged_back_rupiah AND NOT EXISTS (
                    SELECT 1 FROM payment_anomalies a
                    WHERE a.event_id = p.event_id AND a.task = 'refund' AND a.withdrawn_at IS NULL
                )
                LIMIT %(most)s
            ) UNION ALL (
                SELECT 'payment_of_open_order', p.gateway || ':' || p.transaction_id, o.order_number
                FROM piece p JOIN orders o ON o.id = p.order_id
                WHERE p.pays_order AND o.status IN ('pending', 'cancelled', 'expired')
                LIMIT %(most)s
            ) UNION ALL (
                -- An order that came back from a refund after its invoice was credited.
                SELECT 'credited_though_paid', c.number, o.order_number
                FROM piece p JOIN orders o ON o.id = p.order_id JOIN credit_notes c ON c.order_id = o.id
                WHERE p.pays_order AND c.credited_rupiah > p.refunded_rupiah
                LIMIT %(most)s
            )
        )""",
        after,
        limit,
    )


def _piece(conn: Connection, look: str, after: Place | None, limit: int) -> Piece:
    """Run a look whose rows are in `piece` (at, id) and whose findings are in `found`."""
    parameters: dict[str, Any] = {
        "at": after and after.at,
        "id": after and after.id,
        "look_back": LOOK_BACK,
        "late": _LATE,
        "limit": limit,
        "most": _MOST_FINDINGS,
    }
    row = conn.execute(
        f"""{look}
        SELECT l.at, l.id, (SELECT count(*) FROM piece),
            (SELECT coalesce(jsonb_agg(jsonb_build_array(kind, subject, order_number)), '[]') FROM found)
        FROM (SELECT 1) AS always LEFT JOIN (SELECT at, id FROM piece ORDER BY at DESC, id DESC LIMIT 1) l ON true""",  # noqa: S608  our own constants
        parameters,
    ).fetchone()
    assert row is not None  # noqa: S101  a LEFT JOIN of one row answers one
    at, row_id, count, found = row
    return Piece(
        findings=tuple(Finding(*each) for each in found if each[0] not in OWED),
        owed=tuple(Owed(kind, number) for kind, _, number in found if kind in OWED),
        ends_at=Place(at, row_id) if count == limit else None,
    )


def open_run(conn: Connection) -> Run:
    """Return the run that is under way, or begin one; one that nobody went on with for hours begins anew."""
    row = conn.execute(
        """
        INSERT INTO reconciliation_runs AS r DEFAULT VALUES
        ON CONFLICT ((true)) WHERE finished_at IS NULL DO UPDATE SET
            started_at = CASE WHEN r.started_at < now() - %(stale)s THEN now() ELSE r.started_at END,
            step = CASE WHEN r.started_at < now() - %(stale)s THEN 0 ELSE r.step END,
            after_at = CASE WHEN r.started_at < now() - %(stale)s THEN NULL ELSE r.after_at END,
            after_id = CASE WHEN r.started_at < now() - %(stale)s THEN NULL ELSE r.after_id END
        RETURNING id, step, after_at, after_id""",
        {"stale": _STALE},
    ).fetchone()
    assert row is not None  # noqa: S101  an upsert without a condition answers a row
    return _run(row)


def find_run(conn: Connection, run_id: int) -> Run | None:
    """Return where a run stands, None where it is finished."""
    row = conn.execute(
        "SELECT id, step, after_at, after_id FROM reconciliation_runs WHERE id = %(id)s AND finished_at IS NULL",
        {"id": run_id},
    ).fetchone()
    return None if row is None else _run(row)


def go_on(conn: Connection, run: Run, *, step: int, after: Place | None) -> bool:
    """Note where a run stands now; False where somebody else has brought it on since."""
    return (
        conn.execute(
            """
            UPDATE reconciliation_runs SET step = %(step)s, after_at = %(at)s, after_id = %(after_id)s
            WHERE id = %(id)s AND finished_at IS NULL AND step = %(was)s
                AND (after_at, after_id) IS NOT DISTINCT FROM (%(was_at)s::timestamptz, %(was_id)s::bigint)""",
            {
                "id": run.id,
                "step": step,
                "at": after and after.at,
                "after_id": after and after.id,
                "was": run.step,
                "was_at": run.after and run.after.at,
                "was_id": run.after and run.after.id,
            },
        ).rowcount
        == 1
    )


def finish(conn: Connection, run: Run) -> None:
    """End a run: what it did not see any more is gone."""
    conn.execute(
        """
        WITH ended AS (
            UPDATE reconciliation_runs SET finished_at = now() WHERE id = %(id)s AND finished_at IS NULL
            RETURNING started_at
        )
        UPDATE reconciliation_findings f SET gone_at = now() FROM ended e
        WHERE f.gone_at IS NULL AND f.last_seen_at < e.started_at""",
        {"id": run.id},
    )


def _run(row: tuple[Any, ...]) -> Run:
    return Run(row[0], row[1], None if row[2] is None else Place(row[2], row[3]))


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
