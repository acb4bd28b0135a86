"""A reconciliation compares stock with its movements: what differs is told to a person, and nothing is corrected."""

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from psycopg import Connection

from skincare.app import App
from skincare.orders.errors import CheckoutRefused
from skincare.payments.findings.models import PIECE_OF_PRODUCTS
from skincare.payments.findings.repository import findings, looks
from skincare.payments.findings.service import look_through
from tests.architecture.tree import ROOT
from tests.support.factories import make_order, make_product
from tests.support.payments import checked
from tests.support.shop import stock_differs


@pytest.fixture
def unchecked(database_url: str) -> Iterator[Connection]:
    """A connection whose test may leave products whose numbers are not the sums of their movements."""
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


def differing(app: App) -> list[tuple[str, str]]:
    return [(each.kind, each.subject) for each in checked(app).findings]


ORDERED = "INSERT INTO stock_movements (product_id, on_hand_delta, reserved_delta, reason, moved_by)"


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE products SET stock = stock - 1 WHERE sku = %s",
        "UPDATE products SET on_hand = on_hand + 1 WHERE sku = %s",
        "UPDATE products SET on_hand = on_hand - 1, stock = stock - 1 WHERE sku = %s",
        f"{ORDERED} SELECT id, 0, 1, 'sold', 'x' FROM products WHERE sku = %s",
        f"{ORDERED} SELECT id, -1, 0, 'damaged', 'x' FROM products WHERE sku = %s",
        f"{ORDERED} SELECT id, -1, -1, 'shipped', 'x' FROM products WHERE sku = %s",
    ],
)
def test_a_number_that_is_not_the_sum_is_found_and_left_as_it_is(app: App, unchecked: Connection, change: str) -> None:
    sku, other = make_product(unchecked, stock=5).sku, make_product(unchecked, stock=5).sku
    make_order(unchecked, lines={sku: 1, other: 1})
    assert differing(app) == []
    unchecked.execute(change.encode(), [sku])
    numbers = unchecked.execute("SELECT * FROM products ORDER BY id").fetchall()
    for _ in range(2):
        assert differing(app) == [("stock_differs", sku)]
        assert findings.count_open(unchecked) == 1
    assert unchecked.execute("SELECT * FROM products ORDER BY id").fetchall() == numbers
    assert stock_differs(unchecked) == [sku]


def test_the_runbook_puts_the_sums_in_place_of_the_numbers(app: App, unchecked: Connection) -> None:
    sku = make_product(unchecked, sku="SERUM-30", stock=5).sku
    make_order(unchecked, lines={sku: 2})
    unchecked.execute("UPDATE products SET stock = 4, on_hand = 9")
    assert differing(app) == [("stock_differs", sku)]
    text = (ROOT / "docs/runbooks/reconciliation-findings.md").read_text()
    for statement in re.findall(r"```sql\n(.*?)```", text, re.DOTALL):
        unchecked.execute(statement.encode())
    assert differing(app) == []
    assert unchecked.execute("SELECT stock, on_hand FROM products").fetchall() == [(3, 5)]


def test_one_that_agrees_again_is_gone(app: App, unchecked: Connection) -> None:
    sku = make_product(unchecked, stock=5).sku
    for stock, found in ((4, [("stock_differs", sku)]), (5, []), (3, [("stock_differs", sku)])):
        unchecked.execute("UPDATE products SET stock = %s WHERE sku = %s", [stock, sku])
        assert differing(app) == found


def test_a_product_without_any_movement_has_nothing(app: App, unchecked: Connection) -> None:
    sku = make_product(unchecked, stock=0).sku
    assert differing(app) == []
    unchecked.execute("UPDATE products SET stock = 1, on_hand = 1 WHERE sku = %s", [sku])
    assert differing(app) == [("stock_differs", sku)]


@pytest.mark.parametrize("piece", [1, 7, 5_000])
def test_every_product_is_looked_at_whatever_the_size_of_a_piece(app: App, unchecked: Connection, piece: int) -> None:
    skus = [make_product(unchecked, stock=1).sku for _ in range(PIECE_OF_PRODUCTS + 2)]
    unchecked.execute("UPDATE products SET stock = 0")
    while not look_through(app.database, within_s=0, piece=piece).finished:
        pass
    found = findings.open_findings(unchecked, limit=1_000)
    assert sorted(each.subject for each in found if each.kind == "stock_differs") == sorted(skus)


def test_orders_under_way_are_no_difference(app: App, conn: Connection, database_url: str) -> None:
    skus = [make_product(conn, stock=60).sku for _ in range(2)]

    def buy(_: int) -> None:
        with psycopg.connect(database_url, autocommit=True) as own:
            for _ in range(20):
                try:
                    make_order(own, lines=dict.fromkeys(skus, 1))
                except CheckoutRefused:
                    return

    with ThreadPoolExecutor(3) as pool:
        buying = [pool.submit(buy, number) for number in range(3)]
        looked = 0
        while looked < 20 or not all(each.done() for each in buying):
            assert looks.of_stock(conn, None, limit=100).findings == ()
            looked += 1
    for each in buying:
        each.result()


def test_a_piece_stays_below_the_time_limit_of_a_statement(owner_url: str, conn: Connection) -> None:
    for _ in range(PIECE_OF_PRODUCTS):
        make_product(conn, stock=1)
    with psycopg.connect(owner_url, autocommit=True) as owner:
        owner.execute(
            "INSERT INTO stock_movements (product_id, on_hand_delta, reserved_delta, reason, moved_by)"
            " SELECT p.id, 0, CASE n % 2 WHEN 0 THEN 1 ELSE -1 END, 'sold', 'x'"
            " FROM generate_series(1, 2000) n CROSS JOIN products p"
        )
    with conn.transaction():
        conn.execute("SET LOCAL statement_timeout = '2s'")
        piece = looks.of_stock(conn, None, limit=PIECE_OF_PRODUCTS)
    assert piece.findings == ()
    assert piece.ends_at is not None
