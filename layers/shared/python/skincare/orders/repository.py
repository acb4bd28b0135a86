"""Orders in PostgreSQL: a checkout is one call of `place_order`, and constraints decide."""

from datetime import UTC, datetime
from typing import Any

from psycopg import Connection, DatabaseError
from psycopg.rows import dict_row

from skincare.carts.models import MAX_LINES
from skincare.identifiers import JobId, OrderNumber, UserId, new_job_id
from skincare.jobs.catalog import SendConfirmationEmail
from skincare.jobs.models import DueJob
from skincare.notifications.models import NotificationStatus
from skincare.orders.activity import Notification, OrderDetail, OrderJob, detail_of
from skincare.orders.errors import CheckoutOvertaken, CheckoutRefused, IdempotencyKeyReused
from skincare.orders.models import (
    CartLine,
    CheckoutState,
    Order,
    OrderItem,
    OrderStatus,
    Placement,
    PlaceOrder,
)
from skincare.orders.terms import EXPIRY_GRACE, USUAL, Terms

# Raised by place_order itself: nothing to order, above the expected total, too many lines, unpaid orders, unpaid units.
_REFUSALS = {"SK001", "SK002", "SK003", "SK004", "SK005"}
_REFUSING_CONSTRAINTS = {
    "products_stock_not_negative",
    "orders_one_per_cart_version",
    # Two order numbers alike: one in 10^15, and the next try draws another one.
    "orders_order_number_key",
}

_ORDER_COLUMNS = """
    o.order_number, o.status, o.total_rupiah, o.created_at, o.expires_at, (
        SELECT jsonb_agg(jsonb_build_object(
            'sku', i.sku, 'name', i.name, 'quantity', i.quantity, 'unit_price_rupiah', i.unit_price_rupiah
        ) ORDER BY i.product_id)
        FROM order_items i WHERE i.order_id = o.id
    ) AS items"""


def place(
    conn: Connection, request: PlaceOrder, *, order_number: OrderNumber, job_id: JobId, terms: Terms = USUAL
) -> Placement:
    """Check out the caller's cart in one round trip, or tell the key's first order again.

    The order comes with its timer, a job `expire_order` for when its payment window and the grace are over.
    The replayed order is the one of the first answer, whatever became of it since; no limit refuses it. Raises
    `CheckoutRefused` when nothing was written, `IdempotencyKeyReused`, and `CheckoutOvertaken` where the key was
    forgotten meanwhile.
    """
    payload = SendConfirmationEmail(order_number=order_number)
    try:
        row = (
            conn.cursor(row_factory=dict_row)
            .execute(
                """
                SELECT outcome, order_number, 'pending' AS status, total_rupiah, created_at, expires_at, items,
                    publish_at
                FROM place_order(
                    p_user_id => %(user_id)s, p_key => %(key)s, p_fingerprint => %(fingerprint)s,
                    p_order_number => %(order_number)s, p_expected_total_rupiah => %(expected_total_rupiah)s,
                    p_email => %(email)s, p_locale => %(locale)s, p_recipient_name => %(recipient_name)s,
                    p_shipping_address => %(shipping_address)s, p_note => %(note)s,
                    p_request_id => %(request_id)s, p_job_id => %(job_id)s, p_job_type => %(job_type)s,
                    p_job_queue => %(job_queue)s, p_maximum_lines => %(maximum_lines)s,
                    p_timer_id => %(timer_id)s, p_expires_in => %(expires_in)s, p_trace_id => %(trace_id)s,
                    p_grace => %(grace)s, p_open_orders => %(open_orders)s, p_open_units => %(open_units)s
                )""",
                {
                    "user_id": request.user_id,
                    "key": request.idempotency_key,
                    "fingerprint": request.fingerprint,
                    "order_number": order_number,
                    "expected_total_rupiah": request.expected_total_rupiah,
                    "email": str(request.email),
                    "locale": request.locale,
                    "recipient_name": request.recipient_name,
                    "shipping_address": request.shipping_address,
                    "note": request.note,
                    "request_id": request.request_id,
                    "trace_id": request.trace_id,
                    "job_id": job_id,
                    "job_type": payload.job_type,
                    "job_queue": payload.queue,
                    "maximum_lines": MAX_LINES,
                    "timer_id": new_job_id(),
                    "expires_in": terms.window + EXPIRY_GRACE,
                    "grace": EXPIRY_GRACE,
                    "open_orders": terms.open_orders,
                    "open_units": terms.open_units,
                },
            )
            .fetchone()
        )
    except DatabaseError as error:
        if error.sqlstate in _REFUSALS or error.diag.constraint_name in _REFUSING_CONSTRAINTS:
            raise CheckoutRefused from None
        raise
    if row is None:
        # The key was there when it was written and forgotten when it was read: its time was over in between.
        raise CheckoutOvertaken
    if row["outcome"] == "key_reused":
        raise IdempotencyKeyReused
    if row["outcome"] == "replayed":
        return Placement(_order(row), job=None)
    return Placement(
        _order(row),
        job=DueJob(
            job_id=job_id,
            job_type=payload.job_type,
            queue=payload.queue,
            payload=payload.model_dump(),
            publish_at=row["publish_at"],
            request_id=request.request_id,
            trace_id=request.trace_id,
            order_number=order_number,
        ),
    )


def checkout_state(conn: Connection, user_id: UserId) -> CheckoutState:
    """Return what a checkout of this cart meets at this moment."""
    rows = (
        conn.cursor(row_factory=dict_row)
        .execute(
            """
            WITH unpaid AS MATERIALIZED (
                SELECT h.product_id, sum(h.quantity)::integer AS units
                FROM orders u JOIN order_items h ON h.order_id = u.id
                WHERE u.user_id = %(user_id)s AND u.status = 'pending'
                GROUP BY h.product_id
            )
            SELECT coalesce(c.order_number, o.order_number) AS order_number, p.sku, i.quantity, p.price_rupiah,
                CASE WHEN p.status = 'active' THEN p.stock ELSE 0 END AS stock, coalesce(n.units, 0) AS unpaid,
                ARRAY(
                    SELECT u.order_number FROM orders u
                    WHERE u.user_id = c.user_id AND u.status = 'pending' ORDER BY u.cart_version
                ) AS open_orders
            FROM carts c
            LEFT JOIN orders o ON o.user_id = c.user_id AND o.cart_version = c.version
            LEFT JOIN (cart_items i JOIN products p ON p.id = i.product_id) ON i.user_id = c.user_id
            LEFT JOIN unpaid n ON n.product_id = i.product_id
            WHERE c.user_id = %(user_id)s
            ORDER BY i.added_at, p.id""",
            {"user_id": user_id},
        )
        .fetchall()
    )
    lines = (
        CartLine(row["sku"], row["quantity"], row["price_rupiah"], row["stock"], row["unpaid"])
        for row in rows
        if row["sku"] is not None
    )
    if not rows:
        return CheckoutState(None, ())
    return CheckoutState(rows[0]["order_number"], tuple(lines), tuple(rows[0]["open_orders"]))


def find(conn: Connection, user_id: UserId, order_number: OrderNumber) -> Order | None:
    """Return the caller's order."""
    row = (
        conn.cursor(row_factory=dict_row)
        .execute(
            f"""
            SELECT {_ORDER_COLUMNS}
            FROM orders o WHERE o.user_id = %(user_id)s AND o.order_number = %(order_number)s""",  # noqa: S608  our own constant
            {"user_id": user_id, "order_number": order_number},
        )
        .fetchone()
    )
    return None if row is None else _order(row)


def find_detail(conn: Connection, user_id: UserId, order_number: OrderNumber) -> OrderDetail | None:
    """Return the caller's order with what happened for it, in one round trip."""
    row = (
        conn.cursor(row_factory=dict_row)
        .execute(
            f"""
            SELECT {_ORDER_COLUMNS}, (
                SELECT coalesce(jsonb_agg(jsonb_build_object(
                    'job_type', j.job_type, 'state', j.state,
                    'since', coalesce(j.finished_at, j.leased_at, j.last_failed_at, j.created_at),
                    'due_in_s', extract(epoch FROM coalesce(j.retry_at, j.run_at) - now()),
                    'refund_no', CASE WHEN j.job_type = 'send_refund_email' THEN j.payload -> 'refund_no' END
                ) ORDER BY j.created_at, j.id), '[]')
                FROM jobs j WHERE j.order_number = o.order_number
                    -- A timer that has not gone off is nothing that goes on.
                    AND NOT (j.unique_key IS NOT NULL AND j.attempts = 0)
            ) AS jobs, (
                SELECT coalesce(jsonb_agg(jsonb_build_object(
                    'type', n.notification_type, 'status', n.status, 'at', n.created_at
                )), '[]')
                FROM order_notifications n WHERE n.order_id = o.id
            ) AS notifications
            FROM orders o WHERE o.user_id = %(user_id)s AND o.order_number = %(order_number)s""",  # noqa: S608  our own constant
            {"user_id": user_id, "order_number": order_number},
        )
        .fetchone()
    )
    if row is None:
        return None
    jobs = [OrderJob(**job | {"since": _moment(job["since"])}) for job in row["jobs"]]
    notifications = [
        Notification(each["type"], NotificationStatus(each["status"]), _moment(each["at"]))
        for each in row["notifications"]
    ]
    return detail_of(_order(row), jobs, notifications)


def list_before(conn: Connection, user_id: UserId, order_number: OrderNumber | None, *, limit: int) -> list[Order]:
    """Return up to `limit` of the caller's orders, newest first: those older than the given one, if it is theirs."""
    # The version of the cart rises with each order of a customer, and the index of its constraint serves this list.
    rows = (
        conn.cursor(row_factory=dict_row)
        .execute(
            f"""
            SELECT {_ORDER_COLUMNS}
            FROM orders o
            WHERE o.user_id = %(user_id)s AND (
                %(before)s::text IS NULL OR o.cart_version < (
                    SELECT b.cart_version FROM orders b
                    WHERE b.user_id = %(user_id)s AND b.order_number = %(before)s
                )
            )
            ORDER BY o.cart_version DESC LIMIT %(limit)s""",  # noqa: S608  our own constant
            {"user_id": user_id, "before": order_number, "limit": limit},
        )
        .fetchall()
    )
    return [_order(row) for row in rows]


def cancel_now(conn: Connection, user_id: UserId, order_number: OrderNumber) -> tuple[OrderStatus, bool] | None:
    """As `cancel`, and tell whether this call did it."""
    row = conn.execute(
        "SELECT status, cancelled FROM cancel_order(%(user_id)s, %(order_number)s)",
        {"user_id": user_id, "order_number": order_number},
    ).fetchone()
    return None if row is None else (OrderStatus(row[0]), row[1])


def cancel(conn: Connection, user_id: UserId, order_number: OrderNumber) -> OrderStatus | None:
    """Cancel a pending order and give its stock back, once; return its status afterwards, None if there is none."""
    done = cancel_now(conn, user_id, order_number)
    return None if done is None else done[0]


def _order(row: dict[str, Any]) -> Order:
    status = OrderStatus(row["status"])
    expires_at = row["expires_at"] if status is OrderStatus.PENDING else None
    return Order(
        order_number=row["order_number"],
        status=status,
        total_rupiah=row["total_rupiah"],
        created_at=row["created_at"].astimezone(UTC),
        expires_at=expires_at and expires_at.astimezone(UTC),
        items=tuple(OrderItem(**item) for item in row["items"]),
    )


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)
