"""Customers' requests in PostgreSQL. What an erasure does is the function `erase_customer`."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from psycopg import Connection
from psycopg.rows import class_row, dict_row

from skincare.customers.models import Account, CustomerRequest, Outcome, RequestKind, Step

_COLUMNS = """
    id, kind, user_id, created_at, finished_at, look AS looks, waits_for,
    object_key IS NOT NULL AND finished_at > now() - interval '7 days' AS has_file"""


def accounts(conn: Connection, who: str, *, limit: int) -> list[Account]:
    """Return the accounts of this name, or that ordered with this address; its case does not matter."""
    rows = (
        conn.cursor(row_factory=dict_row)
        .execute(
            """
            WITH known AS (
                SELECT user_id FROM orders WHERE lower(email) = lower(%(who)s) AND erased_at IS NULL
                UNION SELECT user_id FROM orders WHERE user_id = %(who)s AND erased_at IS NULL
                UNION SELECT user_id FROM carts WHERE user_id = %(who)s
                UNION SELECT user_id FROM idempotency_keys WHERE user_id = %(who)s
            )
            SELECT k.user_id, o.orders, o.addresses, o.newest_order_at,
                (SELECT count(*) FROM carts c WHERE c.user_id = k.user_id) = 1 AS has_cart,
                customer_waits_for(k.user_id) AS waits_for
            FROM (SELECT user_id FROM known ORDER BY user_id LIMIT %(limit)s) k
            CROSS JOIN LATERAL (
                SELECT count(*) AS orders, count(DISTINCT lower(email)) AS addresses, max(created_at) AS newest_order_at
                FROM orders WHERE user_id = k.user_id
            ) o
            ORDER BY k.user_id""",
            {"who": who, "limit": limit},
        )
        .fetchall()
    )
    return [Account(**row) for row in rows]


def open_request(conn: Connection, kind: RequestKind, user_id: str, *, delivered: bool) -> tuple[int, int, bool]:
    """Write a request down; return its id, which look is next, and whether it is new.

    An account has one unfinished request of a kind: asked again it is the same, and `delivered` if either said so.
    """
    row = conn.execute(
        """
        INSERT INTO customer_requests AS r (kind, user_id, delivered) VALUES (%(kind)s, %(user_id)s, %(delivered)s)
        ON CONFLICT (user_id, kind) WHERE finished_at IS NULL
        DO UPDATE SET delivered = r.delivered OR excluded.delivered
        RETURNING id, look, xmax = 0""",
        {"kind": kind, "user_id": user_id, "delivered": delivered},
    ).fetchone()
    assert row is not None  # noqa: S101  an upsert without a condition answers a row
    return int(row[0]), int(row[1]), bool(row[2])


def requests(conn: Connection, *, limit: int) -> list[CustomerRequest]:
    """Return requests, unfinished ones first and each group the newest first."""
    cur = conn.cursor(row_factory=class_row(CustomerRequest))
    cur.execute(
        f"SELECT {_COLUMNS} FROM customer_requests ORDER BY finished_at IS NOT NULL, id DESC LIMIT %(limit)s",  # noqa: S608  our own constant
        {"limit": limit},
    )
    return cur.fetchall()


def these(conn: Connection, ids: Sequence[int]) -> list[CustomerRequest]:
    """Return requests by their ids."""
    cur = conn.cursor(row_factory=class_row(CustomerRequest))
    cur.execute(f"SELECT {_COLUMNS} FROM customer_requests WHERE id = ANY (%(ids)s) ORDER BY id", {"ids": list(ids)})  # noqa: S608  our own constant
    return cur.fetchall()


def count_overdue(conn: Connection, *, exports_after: timedelta, erasures_after: timedelta) -> int:
    """Count the unfinished requests that were made longer ago."""
    row = conn.execute(
        """
        SELECT count(*) FROM customer_requests
        WHERE finished_at IS NULL
            AND created_at < now() - CASE kind WHEN 'export' THEN %(exports_after)s ELSE %(erasures_after)s END""",
        {"exports_after": exports_after, "erasures_after": erasures_after},
    ).fetchone()
    assert row is not None  # noqa: S101  an aggregate without GROUP BY answers a row
    return int(row[0])


def exported_key(conn: Connection, request_id: int) -> str | None:
    """Return the key of an export's file while it is kept."""
    row = conn.execute(
        """
        SELECT object_key FROM customer_requests
        WHERE id = %(id)s AND finished_at > now() - interval '7 days'""",
        {"id": request_id},
    ).fetchone()
    return None if row is None else row[0]


def erase(conn: Connection, request_id: int, look: int, *, limit: int) -> Step:
    """Erase up to `limit` orders of a request's account; see `erase_customer`."""
    row = conn.execute(
        """
        SELECT outcome, orders_erased, waiting_for
        FROM erase_customer(%(id)s, %(look)s, %(limit)s)""",
        {"id": request_id, "look": look, "limit": limit},
    ).fetchone()
    assert row is not None  # noqa: S101  it answers one row
    return Step(Outcome(row[0]), row[1], row[2])


def next_look(conn: Connection, request_id: int, look: int, *, after: timedelta) -> datetime | None:
    """Leave the request to its next job; return when that runs, None where another job has done so."""
    row = conn.execute(
        """
        UPDATE customer_requests SET look = look + 1
        WHERE id = %(id)s AND look = %(look)s AND finished_at IS NULL
        RETURNING now() + %(after)s""",
        {"id": request_id, "look": look, "after": after},
    ).fetchone()
    return None if row is None else row[0]


def account_to_export(conn: Connection, request_id: int) -> str | None:
    """Return the account of an unfinished export."""
    row = conn.execute(
        "SELECT user_id FROM customer_requests WHERE id = %(id)s AND kind = 'export' AND finished_at IS NULL",
        {"id": request_id},
    ).fetchone()
    return None if row is None else row[0]


def record_exported(conn: Connection, request_id: int, object_key: str) -> bool:
    """Record that an export's file is kept; False means that somebody did before."""
    cur = conn.execute(
        """
        UPDATE customer_requests SET object_key = %(object_key)s, finished_at = now(), user_id = NULL
        WHERE id = %(id)s AND kind = 'export' AND finished_at IS NULL""",
        {"id": request_id, "object_key": object_key},
    )
    return cur.rowcount == 1


def account(conn: Connection, user_id: str) -> dict[str, Any]:
    """Return what an account has besides its orders, as JSON."""
    row = conn.execute(
        """
        SELECT jsonb_build_object(
            'account', %(user_id)s::text,
            'cart', (
                SELECT jsonb_build_object('changed_at', c.updated_at, 'items', (
                    SELECT coalesce(jsonb_agg(jsonb_build_object(
                        'sku', p.sku, 'name', p.name, 'quantity', i.quantity, 'added_at', i.added_at
                    ) ORDER BY i.added_at, p.id), '[]')
                    FROM cart_items i JOIN products p ON p.id = i.product_id WHERE i.user_id = c.user_id
                )) FROM carts c WHERE c.user_id = %(user_id)s
            ),
            'idempotency_keys', (
                SELECT coalesce(jsonb_agg(jsonb_build_object(
                    'key', k.key, 'order_number', k.order_number, 'created_at', k.created_at
                ) ORDER BY k.created_at), '[]')
                FROM idempotency_keys k WHERE k.user_id = %(user_id)s
            ),
            'no_mail_to', (
                SELECT coalesce(jsonb_agg(DISTINCT jsonb_build_object(
                    'address', o.email, 'reason', s.reason, 'since', s.created_at, 'lifted_at', s.lifted_at
                )), '[]')
                FROM orders o JOIN suppressed_recipients s ON s.email IN (lower(o.email), address_hash(o.email))
                WHERE o.user_id = %(user_id)s
            )
        )""",
        {"user_id": user_id},
    ).fetchone()
    assert row is not None  # noqa: S101  a SELECT without FROM answers a row
    return dict(row[0])


def orders(conn: Connection, user_id: str, *, after: int, limit: int) -> list[tuple[int, dict[str, Any]]]:
    """Return a page of an account's orders as JSON with the version of the cart that each was, the oldest first."""
    rows = conn.execute(
        """
        SELECT o.cart_version, jsonb_build_object(
            'order_number', o.order_number, 'status', o.status, 'total_rupiah', o.total_rupiah, 'email', o.email,
            'locale', o.locale, 'recipient_name', o.recipient_name, 'shipping_address', o.shipping_address,
            'note', o.note, 'request_id', o.request_id, 'placed_at', o.created_at, 'expires_at', o.expires_at,
            'paid_at', o.paid_at, 'cancelled_at', o.cancelled_at, 'expired_at', o.expired_at,
            'items', (
                SELECT coalesce(jsonb_agg(jsonb_build_object(
                    'sku', i.sku, 'name', i.name, 'quantity', i.quantity, 'unit_price_rupiah', i.unit_price_rupiah
                ) ORDER BY i.product_id), '[]')
                FROM order_items i WHERE i.order_id = o.id
            ),
            'payment_attempts', (
                SELECT coalesce(jsonb_agg(jsonb_build_object(
                    'gateway', a.gateway, 'amount_rupiah', a.amount_rupiah, 'page', a.redirect_url,
                    'started_at', a.created_at, 'expires_at', a.expires_at
                ) ORDER BY a.attempt_no), '[]')
                FROM payment_attempts a WHERE a.order_id = o.id
            ),
            'payments', (
                SELECT coalesce(jsonb_agg(jsonb_build_object(
                    'gateway', p.gateway, 'transaction_id', p.transaction_id, 'status', p.status,
                    'amount_rupiah', p.amount_rupiah, 'refunded_rupiah', p.refunded_rupiah,
                    'charged_back_rupiah', p.charged_back_rupiah, 'since', p.created_at
                ) ORDER BY p.id), '[]')
                FROM payments p WHERE p.order_id = o.id
            ),
            'messages_of_gateways', (
                SELECT coalesce(jsonb_agg(jsonb_build_object(
                    'gateway', e.gateway, 'event_key', e.event_key, 'transaction_id', e.transaction_id,
                    'reported_status', e.reported_status, 'amount_rupiah', e.amount_rupiah, 'headers', e.headers,
                    'received_at', e.received_at, 'body_base64', encode(e.body, 'base64')
                ) ORDER BY e.received_at, e.id), '[]')
                FROM payment_events e WHERE e.order_number = o.order_number
            ),
            'refunds', (
                SELECT coalesce(jsonb_agg(jsonb_build_object(
                    'key', r.key, 'amount_rupiah', r.amount_rupiah, 'reason', r.reason, 'state', r.state,
                    'refusal', r.refusal, 'asked_at', r.created_at, 'booked_at', r.booked_at
                ) ORDER BY r.created_at, r.key), '[]')
                FROM refunds r WHERE r.order_id = o.id
            ),
            'invoice', (
                SELECT jsonb_build_object(
                    'number', v.number, 'issued_at', v.created_at, 'file_kept', v.made_at IS NOT NULL,
                    'link_from', '/v1/orders/' || o.order_number || '/invoice'
                ) FROM invoices v WHERE v.order_id = o.id
            ),
            'credit_notes', (
                SELECT coalesce(jsonb_agg(jsonb_build_object(
                    'number', n.number, 'amount_rupiah', n.amount_rupiah, 'issued_at', n.created_at,
                    'file_kept', n.made_at IS NOT NULL,
                    'link_from', '/v1/orders/' || o.order_number || '/credit-notes'
                ) ORDER BY n.year, n.serial), '[]')
                FROM credit_notes n WHERE n.order_id = o.id
            ),
            'mails', (
                SELECT coalesce(jsonb_agg(jsonb_build_object(
                    'about', m.notification_type, 'status', m.status, 'at', m.created_at, 'reason', m.reason,
                    'provider_message_id', m.provider_message_id
                ) ORDER BY m.created_at, m.notification_type), '[]')
                FROM order_notifications m WHERE m.order_id = o.id
            )
        )
        FROM orders o WHERE o.user_id = %(user_id)s AND o.cart_version > %(after)s
        ORDER BY o.cart_version LIMIT %(limit)s""",
        {"user_id": user_id, "after": after, "limit": limit},
    ).fetchall()
    return [(row[0], row[1]) for row in rows]
