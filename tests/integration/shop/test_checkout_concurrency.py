"""Many customers at once: threads through the handler, connections capped as they are in production."""

import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from psycopg import Connection

from skincare.app import App
from tests.support.factories import fill_cart, make_order, make_product
from tests.support.http import Answer, Client, open_app
from tests.support.shop import set_price, stock, written

CONNECTIONS = 8


@pytest.fixture
def deadlocks(owner_url: str) -> Callable[[], int]:
    """How many deadlocks PostgreSQL has resolved in this database."""

    def count() -> int:
        with psycopg.connect(owner_url) as owner:
            owner.execute("SELECT pg_stat_force_next_flush()")
            row = owner.execute("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()").fetchone()
        assert row is not None
        return int(row[0])

    return count


def all_at_once(tasks: list[Callable[[], Answer]]) -> list[Answer]:
    """Run them twice as many at a time as there are connections; the first ones start together.

    With more, those that wait for a connection longest give up on a busy machine, and nobody waits so in a function.
    """
    at_a_time = min(len(tasks), 2 * CONNECTIONS)
    barrier = threading.Barrier(at_a_time)

    def run(number: int) -> Answer:
        if number < at_a_time:
            barrier.wait(timeout=60)
        return tasks[number]()

    with ThreadPoolExecutor(at_a_time) as threads:
        return list(threads.map(run, range(len(tasks))))


def checkout(app: App, user: str) -> Callable[[], Answer]:
    return lambda: Client(app, user).order("k-1")


class TestTheLastUnit:
    def test_goes_to_one_of_a_hundred_buyers(
        self, conn: Connection, database_url: str, deadlocks: Callable[[], int]
    ) -> None:
        sku = make_product(conn, stock=1).sku
        users = [f"buyer-{number}" for number in range(100)]
        for user in users:
            fill_cart(conn, user, {sku: 1})
        with open_app(database_url, max_connections=CONNECTIONS) as app:
            answers = all_at_once([checkout(app, user) for user in users])
        assert Counter(answer.status for answer in answers) == {201: 1, 409: 99}
        refusals = [answer for answer in answers if answer.status == 409]
        assert {answer.code for answer in refusals} == {"out_of_stock"}
        assert all(answer.body["items"] == [{"sku": sku, "requested": 1, "available": 0}] for answer in refusals)
        assert stock(conn, sku) == 0
        assert written(conn) == {"orders": 1, "order_items": 1, "idempotency_keys": 1, "jobs": 1, "timers": 1}
        assert deadlocks() == 0


class TestOneCustomerOnManyDevices:
    def test_is_never_locked_out_by_themselves(
        self, conn: Connection, database_url: str, deadlocks: Callable[[], int]
    ) -> None:
        """Filling, emptying and ordering one cart from everywhere ends in exact stock and no deadlock."""
        for sku in ("A", "B"):
            make_product(conn, sku=sku, stock=1000)
        fill_cart(conn, "ani", {"A": 1, "B": 1})
        with open_app(database_url, max_connections=CONNECTIONS) as app:
            ani = Client(app, "ani")

            def put(number: int) -> Callable[[], Answer]:
                return lambda: ani.put_item("AB"[number % 2], 1 + number % 5)

            def take_out(number: int) -> Callable[[], Answer]:
                return lambda: ani.request("DELETE", f"/v1/cart/items/{'BA'[number % 2]}")

            tasks = [task for number in range(40) for task in (put(number), ani.order, take_out(number))]
            answers = all_at_once(tasks)
            orders = ani.get("/v1/orders", "limit=100").body["data"]
        assert {answer.status for answer in answers} <= {200, 201, 409}
        refusals = {answer.code for answer in answers if answer.status == 409}
        assert refusals <= {"cart_empty", "cart_already_ordered", "concurrent_request"}
        assert len(orders) == sum(answer.status == 201 for answer in answers) == written(conn)["orders"] > 0
        for sku in ("A", "B"):
            sold = sum(item["quantity"] for order in orders for item in order["items"] if item["sku"] == sku)
            assert stock(conn, sku) == 1000 - sold
        assert deadlocks() == 0


class TestCrossedCarts:
    def test_never_lock_each_other_out(self, conn: Connection, database_url: str, deadlocks: Callable[[], int]) -> None:
        """Two hundred carts, half [A, B] and half [B, A]; of A there are 120, of B enough for all."""
        make_product(conn, sku="A", stock=120)
        make_product(conn, sku="B", stock=500)
        for number in range(200):
            lines = {"A": 1, "B": 2} if number % 2 else {"B": 2, "A": 1}
            fill_cart(conn, f"buyer-{number}", lines)
        with open_app(database_url, max_connections=CONNECTIONS) as app:
            answers = all_at_once([checkout(app, f"buyer-{number}") for number in range(200)])
        assert Counter(answer.status for answer in answers) == {201: 120, 409: 80}
        assert (stock(conn, "A"), stock(conn, "B")) == (0, 500 - 240)
        assert written(conn) == {"orders": 120, "order_items": 240, "idempotency_keys": 120, "jobs": 120, "timers": 120}
        assert deadlocks() == 0

    def test_do_not_meet_cancellations_and_new_prices_the_wrong_way_round(
        self, conn: Connection, database_url: str, deadlocks: Callable[[], int]
    ) -> None:
        for sku in ("A", "B"):
            make_product(conn, sku=sku, stock=1000)
        placed = []
        for number in range(24):
            lines = {"A": 1, "B": 1} if number % 2 else {"B": 1, "A": 1}
            placed.append(make_order(conn, user_id=f"owner-{number}", lines=lines).order.order_number)
            fill_cart(conn, f"buyer-{number}", lines)
        with open_app(database_url, max_connections=CONNECTIONS) as app:

            def cancel(number: int) -> Callable[[], Answer]:
                return lambda: Client(app, f"owner-{number}").cancel(placed[number])

            def change(number: int) -> Callable[[], Answer]:
                return lambda: Client(app, f"buyer-{number}").put_item("AB"[number % 2], 3)

            tasks = [
                task
                for number in range(24)
                for task in (checkout(app, f"buyer-{number}"), cancel(number), change(number))
            ]
            set_price(conn, "A", 1)
            answers = all_at_once(tasks)
            assert {answer.status for answer in answers} <= {200, 201}
            assert {answer.status for answer in all_at_once([cancel(number) for number in range(24)])} == {200}
        sold: dict[str, int] = dict(
            conn.execute("""
                SELECT i.sku, sum(i.quantity) FROM order_items i JOIN orders o ON o.id = i.order_id
                WHERE o.status = 'pending' GROUP BY i.sku""").fetchall()
        )
        assert (stock(conn, "A"), stock(conn, "B")) == (1000 - sold["A"], 1000 - sold["B"])
        assert deadlocks() == 0
