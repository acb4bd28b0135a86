"""Builders for what tests need to exist: products, carts, orders, settings.

Each takes a connection that may write rows (the role `app` may) and gives back what the domain would.
Names left out are unique, so that tests do not meet in one database.
"""

import itertools
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from psycopg import Connection

from skincare.addresses import parse_email
from skincare.carts import repository as carts
from skincare.carts.models import Cart
from skincare.catalog.models import Product
from skincare.config import Settings
from skincare.identifiers import OrderNumber, Sku, UserId, new_job_id, new_order_number
from skincare.invoices import repository as invoices
from skincare.locales import Locale
from skincare.orders import repository as orders
from skincare.orders.models import Placement, PlaceOrder
from skincare.orders.terms import Terms

_numbers = itertools.count(1)

UNLIMITED = Terms(open_orders=1_000, open_units=100_000)
"""The usual terms, but for tests that are not about limits."""


SELLER = {
    "SELLER_NAME": "PT Contoh Skincare",
    "SELLER_ADDRESS": "Jalan Contoh No. 1\nJakarta 12345\nIndonesia",
    "SELLER_TAX_ID": "00.000.000.0-000.000",
}


def make_settings(database_url: str = "postgresql://nobody@127.0.0.1:1/none", **environment: str) -> Settings:
    """Settings as a function would read them; name variables to add or override them."""
    return Settings.from_env({"DATABASE_URL": database_url, "MAIL_FROM": "shop@example.com"} | SELLER | environment)


def make_user_id() -> UserId:
    return UserId(f"user-{next(_numbers)}")


def make_product(
    conn: Connection,
    *,
    sku: str | None = None,
    name: str = "Niacinamide Serum 30 ml",
    price_rupiah: int = 150_000,
    stock: int = 10,
) -> Product:
    """A product in the catalog."""
    product = Product(Sku(sku or f"SKU-{next(_numbers):04}"), name, price_rupiah, stock)
    conn.execute(
        "INSERT INTO products (sku, name, price_rupiah, stock) VALUES (%s, %s, %s, %s)",
        [product.sku, product.name, product.price_rupiah, product.stock],
    )
    return product


def fill_cart(conn: Connection, user_id: str, lines: Mapping[str, int]) -> Cart:
    """A cart with these quantities by SKU."""
    for sku, quantity in lines.items():
        assert carts.put_item(conn, UserId(user_id), Sku(sku), quantity), f"there is no product {sku}"
    return carts.load(conn, UserId(user_id))


def make_place_order(user_id: str, *, email: str = "buyer@example.com", **changes: Any) -> PlaceOrder:
    """A checkout as the API would ask for it, each with its own key."""
    number = next(_numbers)
    request = PlaceOrder(
        user_id=UserId(user_id),
        idempotency_key=f"key-{number}",
        email=parse_email(email),
        locale=Locale.ID,
        request_id=f"request-{number}",
    )
    return replace(request, **changes)


def make_order(
    conn: Connection,
    *,
    user_id: str | None = None,
    lines: Mapping[str, int] | None = None,
    terms: Terms = UNLIMITED,
    **changes: Any,
) -> Placement:
    """A placed order with its job, which nobody has published; without `lines` it has one unit of a new product.

    `changes` go to `make_place_order`: `email` as text, and fields such as `locale` or `recipient_name`.
    """
    user_id = user_id or make_user_id()
    fill_cart(conn, user_id, lines or {make_product(conn).sku: 1})
    request = make_place_order(user_id, **changes)
    return orders.place(conn, request, order_number=new_order_number(), job_id=new_job_id(), terms=terms)


def pay(conn: Connection, order_number: OrderNumber) -> OrderNumber:
    """Make a pending order paid and numbered, without the payment, events and jobs that come with it."""
    with conn.transaction():
        row = conn.execute(
            "UPDATE orders SET status = 'paid', paid_at = now() WHERE order_number = %s RETURNING id", [order_number]
        ).fetchone()
        assert row is not None
        invoices.take_number(conn, row[0])
    return order_number
