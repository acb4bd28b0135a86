"""What a reconciliation looks through: each statement looks at a bounded number of rows, by an index."""

from datetime import timedelta
from typing import Any

from psycopg import Connection
from psycopg.rows import class_row

from skincare.payments.findings.models import LOOK_BACK, OWED, Finding, Owed, Piece, Place

_LATE = timedelta(minutes=15)
_UNBOOKED = timedelta(days=3)
_MOST_FINDINGS = 200
"""Of one kind and one statement: more of them have one cause."""


def of_events(conn: Connection) -> Piece:
    """Look at payment events that wait, and at those that were given up though their order is here, and at refunds.

    Orders are looked up one by one: without statistics, as after a restore, a join would read all of them.
    """
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
            WHERE s.set_aside_at > now() - %(look_back)s AND e.status = 'paid' AND e.id = ANY (ARRAY(
                SELECT n.event_id FROM set_aside_events n WHERE n.set_aside_at > now() - %(look_back)s
            )) AND (SELECT o.id FROM orders o WHERE o.order_number = e.order_number) IS NOT NULL AND NOT EXISTS (
                SELECT 1 FROM payments p
                WHERE p.gateway = e.gateway AND p.transaction_id = e.transaction_id AND p.event_id IS NOT NULL
            )
            ORDER BY s.set_aside_at LIMIT %(limit)s
        ) UNION ALL (
            SELECT 'refund_not_booked', r.key, (SELECT o.order_number FROM orders o WHERE o.id = r.order_id)
            FROM refunds r
            WHERE r.state IN ('requested', 'sent') AND r.created_at < now() - %(unbooked)s
            ORDER BY r.created_at LIMIT %(limit)s
        ) UNION ALL (
            -- Until its job is run again or discarded: who asked for it believes that the money goes back.
            SELECT 'refund_refused', r.key, (SELECT o.order_number FROM orders o WHERE o.id = r.order_id)
            FROM refunds r
            WHERE r.state = 'refused' AND r.created_at > now() - %(look_back)s AND EXISTS (
                SELECT 1 FROM job_keys k WHERE k.unique_key = 'send_refund:' || r.key
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


def of_stock(conn: Connection, after: Place | None, *, limit: int) -> Piece:
    """Look at products, in the order of their ids: whether their stock is the sum of their movements.

    A piece has no time to begin at; each has the same one.
    """
    return _piece(
        conn,
        """
        WITH piece AS MATERIALIZED (
            SELECT p.id, p.sku, p.stock, p.on_hand, 'epoch'::timestamptz AS at FROM products p
            WHERE p.id > coalesce(%(id)s::bigint, 0) ORDER BY p.id LIMIT %(limit)s
        ), found (kind, subject, order_number) AS (
            SELECT 'stock_differs', p.sku, NULL::text
            FROM piece p CROSS JOIN LATERAL (
                SELECT coalesce(sum(m.on_hand_delta), 0) AS on_hand, coalesce(sum(m.reserved_delta), 0) AS reserved
                FROM stock_movements m WHERE m.product_id = p.id
            ) m
            WHERE (p.on_hand, p.on_hand - p.stock) <> (m.on_hand, m.reserved)
            LIMIT %(most)s
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
