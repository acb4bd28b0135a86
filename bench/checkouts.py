"""The ways to check out that are compared."""

from collections.abc import Callable
from typing import Any

from psycopg import Connection

from bench.shop import checkout_of, place
from skincare.identifiers import UserId, new_job_id, new_order_number
from skincare.orders.errors import CheckoutRefused


def statement_per_trip(conn: Connection, user_id: UserId) -> None:
    """Check out as code is often written: one statement per row, each waited for, in one transaction.

    It takes the same locks in the same order and writes the same rows as `place_order`.
    """
    request, number, job_id = checkout_of(user_id), new_order_number(), new_job_id()

    def one(sql: str, *parameters: Any) -> Any:
        return conn.execute(sql.encode(), parameters).fetchone()

    with conn.transaction():
        conn.execute(
            "INSERT INTO idempotency_keys (user_id, key, fingerprint, order_number) VALUES (%s, %s, %s, %s)",
            [user_id, request.idempotency_key, request.fingerprint, number],
        )
        (version,) = one(
            "UPDATE carts SET order_number = %s WHERE user_id = %s AND order_number IS NULL RETURNING version",
            number,
            user_id,
        )
        lines = conn.execute(
            "SELECT product_id, quantity FROM cart_items WHERE user_id = %s ORDER BY product_id", [user_id]
        ).fetchall()
        products = []
        for product_id, quantity in lines:
            sku, name, price, stock = one(
                "SELECT sku, name, price_rupiah, stock FROM products WHERE id = %s FOR NO KEY UPDATE", product_id
            )
            if stock < quantity:
                raise CheckoutRefused
            conn.execute(
                "UPDATE products SET stock = stock - %s, stock_version = stock_version + 1 WHERE id = %s",
                [quantity, product_id],
            )
            products.append((product_id, sku, name, price, quantity))
        (order_id,) = one(
            "INSERT INTO orders (order_number, user_id, cart_version, total_rupiah, email, locale, request_id)"
            " VALUES (%s, %s, %s, %s, %s, %s, %s) RETURNING id",
            number,
            user_id,
            version,
            sum(price * quantity for _, _, _, price, quantity in products),
            str(request.email),
            request.locale,
            request.request_id,
        )
        for product in products:
            conn.execute(
                "INSERT INTO order_items (order_id, product_id, sku, name, unit_price_rupiah, quantity)"
                " VALUES (%s, %s, %s, %s, %s, %s)",
                [order_id, *product],
            )
            conn.execute(
                "INSERT INTO stock_movements (product_id, on_hand_delta, reserved_delta, reason, order_id, moved_by)"
                " VALUES (%s, 0, %s, 'sold', %s, 'shop')",
                [product[0], product[-1], order_id],
            )
        conn.execute("DELETE FROM cart_items WHERE user_id = %s", [user_id])
        conn.execute(
            "INSERT INTO jobs (id, job_type, queue, payload, order_number, request_id, publish_at) VALUES (%s,"
            " 'send_confirmation_email', 'notifications', jsonb_build_object('order_number', %s::text), %s, %s,"
            " now() + interval '30 seconds')",
            [job_id, number, number, request.request_id],
        )


CHECKOUTS: dict[str, Callable[[Connection, UserId], None]] = {
    "one statement": place,
    "a statement per trip": statement_per_trip,
}
