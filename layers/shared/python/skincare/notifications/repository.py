"""SQL about notifications."""

from datetime import datetime

from psycopg import Connection
from psycopg.rows import dict_row

from skincare.identifiers import OrderNumber
from skincare.locales import Locale
from skincare.notifications.models import Notice, NotificationContext, NotificationStatus, OrderLine, RefundContext


def load_context(conn: Connection, order_number: OrderNumber, notice: Notice) -> NotificationContext | None:
    """Return the order with its lines, an earlier notification of this kind and whether its address is suppressed.

    One statement; None where no such order exists.
    """
    cursor = conn.cursor(row_factory=dict_row)
    row = cursor.execute(
        """
        SELECT o.id, o.order_number, o.status, o.total_rupiah, o.locale, o.email, o.recipient_name,
               o.shipping_address, n.status AS recorded,
               CASE WHEN o.status = 'pending' AND o.expires_at > now() THEN o.expires_at END AS pay_before,
               o.erased_at IS NOT NULL AS erased,
               EXISTS (SELECT FROM suppressed_recipients s
                   WHERE s.email IN (lower(o.email), address_hash(o.email)) AND s.lifted_at IS NULL) AS suppressed,
               (
                   SELECT coalesce(jsonb_agg(jsonb_build_object(
                       'sku', i.sku, 'name', i.name, 'quantity', i.quantity,
                       'unit_price_rupiah', i.unit_price_rupiah
                   ) ORDER BY i.product_id), '[]')
                   FROM order_items i WHERE i.order_id = o.id
               ) AS lines,
               (
                   SELECT jsonb_build_object('amount_rupiah', r.amount_rupiah, 'credit_note', r.credit_note)
                   FROM order_refunds r
                   WHERE r.order_id = o.id AND r.refund_no = %(refund_no)s
               ) AS refund
        FROM orders o
        LEFT JOIN order_notifications n ON n.order_id = o.id AND n.notification_type = %(type)s
        WHERE o.order_number = %(order_number)s""",
        {"order_number": order_number, "type": notice.recorded, "refund_no": notice.refund_no},
    ).fetchone()
    if row is None:
        return None
    return NotificationContext(
        **row
        | {
            "locale": Locale(row["locale"]),
            "lines": tuple(OrderLine(**line) for line in row["lines"]),
            "recorded": row["recorded"] and NotificationStatus(row["recorded"]),
            "refund": row["refund"] and RefundContext(**row["refund"]),
        }
    )


def record_notification(
    conn: Connection,
    order_id: int,
    notice: Notice,
    status: NotificationStatus,
    *,
    provider_message_id: str | None = None,
    reason: str | None = None,
) -> bool:
    """Record how telling the customer ended; False means that somebody recorded it before."""
    row = conn.execute(
        "SELECT record_notification(%(order_id)s, %(type)s, %(status)s, %(provider_message_id)s, %(reason)s)",
        {
            "order_id": order_id,
            "type": notice.recorded,
            "status": status,
            "provider_message_id": provider_message_id,
            "reason": reason,
        },
    ).fetchone()
    return row is not None and bool(row[0])


def suppress_recipient(conn: Connection, email: str, *, reason: str, happened_at: datetime | None = None) -> bool:
    """Send no mail to this address any more; False means that nobody did before either. The first reason stays.

    An address that a person has lifted is suppressed again by what happened after that, not by old news that
    comes late or twice. It is kept as its hash; releases before wrote the address itself, which its row keeps.
    """
    cursor = conn.execute(
        """
        INSERT INTO suppressed_recipients AS s (email, reason) VALUES (
            coalesce(
                (SELECT p.email FROM suppressed_recipients p WHERE p.email = lower(%(email)s)),
                address_hash(%(email)s)
            ),
            %(reason)s
        )
        ON CONFLICT (email) DO UPDATE SET reason = excluded.reason, created_at = now(), lifted_at = NULL
        WHERE s.lifted_at IS NOT NULL
            AND (%(happened_at)s::timestamptz IS NULL OR %(happened_at)s > s.lifted_at)""",
        {"email": email, "reason": reason, "happened_at": happened_at},
    )
    return cursor.rowcount == 1
