"""A shop to buy in: many products, and carts that wait for their checkout."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Never, cast
from uuid import UUID

from psycopg import Connection

from skincare.addresses import parse_email
from skincare.identifiers import UserId, new_job_id, new_order_number
from skincare.jobs.catalog import SendConfirmationEmail
from skincare.locales import Locale
from skincare.orders import repository
from skincare.orders.models import PlaceOrder

PRODUCTS = 1000
LINES = 3
PLENTY = 1_000_000_000

_BUYER = parse_email("buyer@example.com")


def open_shop(owner: Connection, *, stock: int = PLENTY) -> None:
    """Put the products in; ids are 1 to PRODUCTS."""
    owner.execute(
        """
        INSERT INTO products (sku, name, price_rupiah, stock)
        SELECT 'SKU-' || n, 'Serum ' || n, 50000 + n, %(stock)s FROM generate_series(1, %(products)s) n""",
        {"stock": stock, "products": PRODUCTS},
    )


def set_stock(conn: Connection, units: int, *, sku: str | None = None) -> None:
    """Let so many units be for sale, of one product or of each."""
    conn.execute(
        "UPDATE products SET on_hand = on_hand + %(units)s - stock, stock = %(units)s"
        " WHERE %(sku)s::text IS NULL OR sku = %(sku)s",
        {"units": units, "sku": sku},
    )


def fill_carts(owner: Connection, prefix: str, *, clients: int, each: int, hot: bool = False) -> None:
    """Fill carts of three lines for users `prefix-client-number` (see `user`), numbers from 1.

    Each customer has one cart, with one unit of each product: what a single customer may order is limited, and
    nobody pays here. Lines are spread over all products; with `hot` the first line of all is product 1.
    """
    owner.execute(
        "INSERT INTO carts (user_id) SELECT %(prefix)s || '-' || c || '-' || n "
        "FROM generate_series(0, %(clients)s - 1) c, generate_series(1, %(each)s) n",
        {"prefix": prefix, "clients": clients, "each": each},
    )
    # 37 and 331 share no factor with the 999 products beside the hot one: a cart's lines differ, carts spread.
    owner.execute(
        """
        INSERT INTO cart_items (user_id, product_id, quantity)
        SELECT %(prefix)s || '-' || c || '-' || n,
            CASE WHEN %(hot)s AND k = 0 THEN 1 ELSE 2 + ((c * %(each)s + n) * 37 + k * 331) %% %(others)s END, 1
        FROM generate_series(0, %(clients)s - 1) c, generate_series(1, %(each)s) n, generate_series(0, %(lines)s - 1) k
        """,
        {"prefix": prefix, "clients": clients, "each": each, "hot": hot, "lines": LINES, "others": PRODUCTS - 1},
    )


def settle_down(owner: Connection) -> None:
    """Let the server do now what it would otherwise do in the middle of a measurement."""
    owner.execute("VACUUM (ANALYZE)")
    owner.execute("CHECKPOINT")


def user(prefix: str, client: int, number: int) -> UserId:
    return UserId(f"{prefix}-{client}-{number}")


def checkout_of(user_id: UserId) -> PlaceOrder:
    """Return the request that checks this user's cart out; its key is the user's id."""
    return PlaceOrder(user_id=user_id, idempotency_key=user_id, email=_BUYER, locale=Locale.ID, request_id="bench")


def place(conn: Connection, user_id: UserId) -> None:
    """Check out as the API does."""
    repository.place(conn, checkout_of(user_id), order_number=new_order_number(), job_id=new_job_id())


def mail_jobs(owner: Connection, users: Sequence[UserId]) -> list[tuple[UUID, str, dict[str, Any]]]:
    """Return id, type and payload of the jobs that confirm these customers' orders: an order has other jobs, too."""
    return owner.execute(
        """
        SELECT j.id, j.job_type, j.payload FROM jobs j JOIN orders o USING (order_number)
        WHERE o.user_id = ANY (%(users)s) AND j.job_type = %(job_type)s ORDER BY j.id""",
        {"users": list(users), "job_type": SendConfirmationEmail.job_type},
    ).fetchall()


@dataclass(frozen=True)
class Statement:
    """The checkout's statement with its parameters, as the repository sends it."""

    sql: str
    parameters: dict[str, Any]

    @property
    def ids(self) -> list[str]:
        """The parameters that are another one for every order."""
        return [name for name, value in self.parameters.items() if isinstance(value, UUID)]


def checkout_statement(user_id: UserId) -> Statement:
    """Return what `repository.place` would send, word for word."""
    said: list[Statement] = []

    class Listening:
        def cursor(self, **_: object) -> "Listening":
            return self

        def execute(self, sql: str, parameters: dict[str, Any]) -> Never:
            said.append(Statement(sql, parameters))
            raise InterruptedError

    try:
        place(cast(Connection, Listening()), user_id)
    except InterruptedError:
        return said[0]
    raise AssertionError("place sends a statement")


def bare_checkout(conn: Connection, *, function: str = "place_order") -> Callable[[UserId], None]:
    """Return a checkout that is only the statement: no model in, no model out."""
    template = checkout_statement(UserId("nobody"))
    sql = template.sql.replace("FROM place_order(", f"FROM {function}(").encode()

    def call(user_id: UserId) -> None:
        parameters = template.parameters | {
            "user_id": user_id,
            "key": user_id,
            "order_number": new_order_number(),
            **{name: new_job_id() for name in template.ids},
        }
        conn.execute(sql, parameters).fetchone()

    return call


def oversold(owner: Connection, *, stock: int = PLENTY) -> int:
    """Return how many units more or fewer than the orders say are gone, over all products."""
    row = owner.execute(
        """
        SELECT coalesce(sum(abs(%(stock)s - p.stock - coalesce(s.sold, 0))), 0) FROM products p
        LEFT JOIN (SELECT product_id, sum(quantity) AS sold FROM order_items GROUP BY product_id) s
            ON s.product_id = p.id""",
        {"stock": stock},
    ).fetchone()
    assert row is not None
    return int(row[0])


def deadlocks(owner: Connection) -> int:
    """Return how many deadlocks this database has seen."""
    row = owner.execute("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()").fetchone()
    assert row is not None
    return int(row[0])


JOB_INSERT = re.compile(r"\s*SELECT e.publish_at INTO v_publish_at FROM enqueue_jobs\(.*?p_job_id;", re.DOTALL)


def make_checkout_without_job(owner: Connection) -> None:
    """Create `place_order_alone`: the same function without its jobs. Raises `LookupError` where it has none."""
    row = owner.execute("SELECT pg_get_functiondef('place_order'::regproc)").fetchone()
    assert row is not None
    body, found = JOB_INSERT.subn("", row[0].replace("FUNCTION public.place_order(", "FUNCTION place_order_alone("))
    if found != 1:
        raise LookupError("place_order does not insert its jobs as this measurement expects")
    owner.execute(body.encode())
