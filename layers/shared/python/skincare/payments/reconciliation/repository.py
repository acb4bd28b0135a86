"""What does not add up, in PostgreSQL. Everything looks back a bounded time, by an index."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from psycopg import Connection
from psycopg.rows import class_row

from skincare.identifiers import OrderNumber
from skincare.payments.expiry.repository import KnownAttempt
from skincare.payments.models import Attempt

LOOK_BACK = timedelta(days=35)
_LATE = timedelta(minutes=15)
_UNBOOKED = timedelta(days=3)
_ASK_BACK = timedelta(days=7)


@dataclass(frozen=True)
class Unattended:
    """Something whose job is gone: `kind` is the type of that job, `subject` what it is about."""

    kind: str
    subject: str
    order_number: OrderNumber


@dataclass(frozen=True)
class Finding:
    """Something that a person must look at, since when, and what it is about."""

    kind: str
    subject: str
    order_number: str | None
    first_seen_at: datetime | None = None


def unattended(conn: Connection, *, grace: timedelta, limit: int) -> list[Unattended]:
    """Return events, refunds and unpaid orders that no unfinished job looks after. A dead job counts: a person has it.

    `grace` is how long after its end an order that nobody paid should be closed.
    """
    cur = conn.cursor(row_factory=class_row(Unattended))
    cur.execute(
        """
        (
            SELECT 'process_payment' AS kind, e.id::text AS subject, e.order_number FROM payment_events e
            WHERE e.state = 'received' AND e.received_at < now() - %(late)s AND NOT EXISTS (
                SELECT 1 FROM jobs j
                WHERE j.order_number = e.order_number AND j.job_type = 'process_payment'
                    AND j.payload ->> 'event_id' = e.id::text AND j.publish_at IS NOT NULL
            ) ORDER BY e.received_at LIMIT %(limit)s
        ) UNION ALL (
            SELECT 'send_refund', r.key, o.order_number FROM refunds r JOIN orders o ON o.id = r.order_id
            WHERE r.state = 'requested' AND r.created_at < now() - %(late)s AND NOT EXISTS (
                SELECT 1 FROM jobs j WHERE j.unique_key = 'send_refund:' || r.key AND j.publish_at IS NOT NULL
            ) ORDER BY r.created_at LIMIT %(limit)s
        ) UNION ALL (
            SELECT 'expire_order', o.order_number, o.order_number FROM orders o
            WHERE o.status = 'pending' AND o.expires_at < now() - %(grace)s AND NOT EXISTS (
                SELECT 1 FROM jobs j
                WHERE j.unique_key = 'expire_order:' || o.order_number AND j.publish_at IS NOT NULL
            ) ORDER BY o.created_at LIMIT %(limit)s
        )""",
        {"late": _LATE, "grace": grace, "limit": limit},
    )
    return cur.fetchall()


def owed_to_customers(conn: Connection, *, limit: int) -> list[Unattended]:
    """Return the invoices and mails of paid orders that are not there and that no job will make.

    Releases before there were invoices left such orders behind. A dead job counts, and so does one that a person
    cancelled. One statement for each, for they look through all orders of `LOOK_BACK`.
    """
    cur = conn.cursor(row_factory=class_row(Unattended))
    parameters = {"late": _LATE, "look_back": LOOK_BACK, "limit": limit}
    invoices = cur.execute(
        """
        SELECT 'generate_invoice_pdf' AS kind, o.order_number AS subject, o.order_number
        FROM orders o LEFT JOIN invoices v ON v.order_id = o.id
        WHERE o.paid_at BETWEEN now() - %(look_back)s AND now() - %(late)s AND v.made_at IS NULL AND NOT EXISTS (
            SELECT 1 FROM jobs j
            WHERE j.order_number = o.order_number AND j.job_type = 'generate_invoice_pdf'
                AND (j.publish_at IS NOT NULL OR j.state = 'cancelled')
        ) ORDER BY o.paid_at LIMIT %(limit)s""",
        parameters,
    ).fetchall()
    mails = cur.execute(
        """
        SELECT 'send_payment_received_email' AS kind, o.order_number AS subject, o.order_number
        FROM orders o LEFT JOIN order_notifications n
            ON n.order_id = o.id AND n.notification_type = 'payment_received'
        WHERE o.paid_at BETWEEN now() - %(look_back)s AND now() - %(late)s
            AND o.status IN ('paid', 'partially_refunded') AND n.order_id IS NULL AND NOT EXISTS (
                SELECT 1 FROM jobs j
                WHERE j.order_number = o.order_number AND j.job_type = 'send_payment_received_email'
                    AND (j.publish_at IS NOT NULL OR j.state = 'cancelled')
            ) ORDER BY o.paid_at LIMIT %(limit)s""",
        parameters,
    ).fetchall()
    return [*invoices, *mails]


def discrepancies(conn: Connection, *, limit: int) -> list[Finding]:
    """Return what needs a person: up to `limit` of each kind."""
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
            -- What an order says and what its payment says.
            SELECT 'order_differs_from_payment', o.order_number, o.order_number
            FROM orders o LEFT JOIN payments p ON p.order_id = o.id AND p.pays_order
            WHERE o.paid_at > now() - %(look_back)s AND o.status IS DISTINCT FROM CASE
                WHEN p.id IS NULL OR p.amount_rupiah <> o.total_rupiah THEN NULL
                WHEN p.refunded_rupiah = 0 THEN 'paid'
                WHEN p.refunded_rupiah = p.amount_rupiah THEN 'refunded'
                ELSE 'partially_refunded'
            END
            ORDER BY o.paid_at LIMIT %(limit)s
        ) UNION ALL (
            -- Money that neither pays its order nor is anybody's task.
            SELECT 'money_without_task', p.gateway || ':' || p.transaction_id, o.order_number
            FROM payments p JOIN orders o ON o.id = p.order_id
            WHERE p.updated_at > now() - %(look_back)s AND NOT p.pays_order
                AND p.amount_rupiah > p.refunded_rupiah + p.charged_back_rupiah AND NOT EXISTS (
                    SELECT 1 FROM payment_anomalies a
                    WHERE a.event_id = p.event_id AND a.task = 'refund' AND a.withdrawn_at IS NULL
                )
            ORDER BY p.updated_at LIMIT %(limit)s
        ) UNION ALL (
            SELECT 'payment_of_open_order', p.gateway || ':' || p.transaction_id, o.order_number
            FROM payments p JOIN orders o ON o.id = p.order_id
            WHERE p.updated_at > now() - %(look_back)s AND p.pays_order
                AND o.status IN ('pending', 'cancelled', 'expired')
            ORDER BY p.updated_at LIMIT %(limit)s
        ) UNION ALL (
            SELECT 'refund_not_booked', r.key, o.order_number FROM refunds r JOIN orders o ON o.id = r.order_id
            WHERE r.state IN ('requested', 'sent') AND r.created_at < now() - %(unbooked)s
            ORDER BY r.created_at LIMIT %(limit)s
        ) UNION ALL (
            -- An order that came back from a refund after its invoice was credited.
            SELECT 'credited_though_paid', c.number, o.order_number
            FROM credit_notes c JOIN orders o ON o.id = c.order_id
            JOIN payments p ON p.order_id = o.id AND p.pays_order
            WHERE c.created_at > now() - %(look_back)s AND c.credited_rupiah > p.refunded_rupiah
            ORDER BY c.created_at LIMIT %(limit)s
        )""",
        {"look_back": LOOK_BACK, "unbooked": _UNBOOKED, "limit": limit},
    )
    return cur.fetchall()


def save_findings(conn: Connection, findings: Collection[Finding]) -> int:
    """Write down what was found now, and that the rest is gone; return how many are new."""
    row = conn.execute(
        """
        WITH found AS (
            SELECT * FROM unnest(%(kinds)s::text[], %(subjects)s::text[], %(numbers)s::text[])
                AS f (kind, subject, order_number)
        ), gone AS (
            UPDATE reconciliation_findings r SET gone_at = now()
            WHERE r.gone_at IS NULL AND NOT EXISTS (
                SELECT 1 FROM found f WHERE f.kind = r.kind AND f.subject = r.subject
            )
        ), saved AS (
            INSERT INTO reconciliation_findings AS r (kind, subject, order_number)
            SELECT kind, subject, order_number FROM found
            ON CONFLICT (kind, subject) DO UPDATE SET last_seen_at = now(), gone_at = NULL
            RETURNING r.first_seen_at = now() AS is_new
        )
        SELECT count(*) FILTER (WHERE is_new) FROM saved""",
        {
            "kinds": [finding.kind for finding in findings],
            "subjects": [finding.subject for finding in findings],
            "numbers": [finding.order_number for finding in findings],
        },
    ).fetchone()
    return 0 if row is None else int(row[0])


def open_findings(conn: Connection, *, limit: int) -> list[Finding]:
    """Return what the last reconciliation found, longest first."""
    cur = conn.cursor(row_factory=class_row(Finding))
    cur.execute(
        """
        SELECT kind, subject, order_number, first_seen_at FROM reconciliation_findings
        WHERE gone_at IS NULL ORDER BY first_seen_at, kind, subject LIMIT %(limit)s""",
        {"limit": limit},
    )
    return cur.fetchall()


def attempts_to_ask(conn: Connection, *, limit: int) -> list[KnownAttempt]:
    """Return recent attempts that have ended and that nobody asked about since, never asked ones first.

    An order that is still pending has its timer for that.
    """
    rows = conn.execute(
        """
        SELECT a.gateway, o.order_number, a.attempt_no, a.amount_rupiah, a.expires_at
        FROM payment_attempts a JOIN orders o ON o.id = a.order_id
        WHERE a.created_at > now() - %(ask_back)s AND a.expires_at < now() - %(late)s AND o.status <> 'pending'
            AND (a.asked_at IS NULL OR a.asked_at < a.expires_at)
        ORDER BY a.asked_at NULLS FIRST, a.created_at LIMIT %(limit)s""",
        {"ask_back": _ASK_BACK, "late": _LATE, "limit": limit},
    )
    return [
        KnownAttempt(gateway, Attempt(OrderNumber(order_number), number, amount, expires_at), is_open=False)
        for gateway, order_number, number, amount, expires_at in rows
    ]


def mark_asked(conn: Connection, attempts: Sequence[Attempt]) -> int:
    """Note that gateways were asked about attempts."""
    return conn.execute(
        """
        UPDATE payment_attempts a SET asked_at = now()
        FROM unnest(%(order_numbers)s::text[], %(numbers)s::integer[]) AS s (order_number, attempt_no)
        JOIN orders o ON o.order_number = s.order_number
        WHERE a.order_id = o.id AND a.attempt_no = s.attempt_no""",
        {
            "order_numbers": [attempt.order_number for attempt in attempts],
            "numbers": [attempt.attempt_no for attempt in attempts],
        },
    ).rowcount
