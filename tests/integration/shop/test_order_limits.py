"""How much one customer may hold unpaid: orders, and units of a product over all of them. Nobody gets past it."""

import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from psycopg import Connection

from skincare.app import App
from skincare.identifiers import OrderNumber, UserId
from skincare.orders import repository as orders
from skincare.orders.terms import USUAL
from skincare.payments.expiry import repository as expiry
from tests.support.factories import fill_cart, make_order, make_product, make_settings, make_user_id, pay
from tests.support.http import Answer, Client, open_app
from tests.support.payments import tell
from tests.support.randomness import examples
from tests.support.shop import somebody_waits_for_a_lock, stock, wait_until, written

ORDERS, UNITS = 3, 10
CONNECTIONS = 8


@pytest.fixture
def app(app: App) -> App:
    """An App with the limits that a shop has which sets none."""
    return usual(app)


def usual(app: App) -> App:
    return limited(app, make_settings().open_order_limit, make_settings().open_unit_limit)


def limited(app: App, open_orders: int, open_units: int) -> App:
    return replace(app, settings=replace(app.settings, open_order_limit=open_orders, open_unit_limit=open_units))


@pytest.fixture
def sku(conn: Connection) -> str:
    return make_product(conn, sku="SERUM", stock=500).sku


@pytest.fixture
def owner(owner_url: str) -> Any:
    with psycopg.connect(owner_url, autocommit=True) as owner:
        yield owner


def buy(app: App, sku: str, quantity: int = 1, *, user: str = "ani", key: str | None = None) -> Answer:
    ani = Client(app, user)
    assert ani.put_item(sku, quantity).status == 200
    return ani.order(key)


def bought(app: App, sku: str, quantity: int = 1, **more: Any) -> OrderNumber:
    answer = buy(app, sku, quantity, **more)
    assert answer.status == 201, answer.text
    return OrderNumber(answer.body["order_number"])


def cancel(app: App, conn: Connection, number: OrderNumber) -> None:
    assert Client(app, "ani").cancel(number).status == 200


def expire(app: App, conn: Connection, number: OrderNumber) -> None:
    assert expiry.expire(conn, number, attempts=0) is expiry.Expiry.EXPIRED


def settle(app: App, conn: Connection, number: OrderNumber) -> None:
    tell(app, number, "paid", number, amount_rupiah=total(conn, number))


def refund(app: App, conn: Connection, number: OrderNumber) -> None:
    settle(app, conn, number)
    tell(app, number, "refunded", number, minute=1, amount_rupiah=total(conn, number))


def total(conn: Connection, number: OrderNumber) -> int:
    row = conn.execute("SELECT total_rupiah FROM orders WHERE order_number = %s", [number]).fetchone()
    assert row is not None
    return int(row[0])


ENDS = pytest.mark.parametrize("end", [cancel, expire, settle, refund])


class TestUnpaidOrders:
    def test_are_three_at_most(self, app: App, conn: Connection, sku: str) -> None:
        numbers = [bought(app, sku) for _ in range(ORDERS)]
        answer = buy(app, sku)
        assert (answer.status, answer.code) == (409, "too_many_open_orders")
        reported = {name: answer.body[name] for name in ("open", "limit", "order_numbers")}
        assert reported == {"open": ORDERS, "limit": ORDERS, "order_numbers": numbers}
        assert written(conn)["orders"] == written(conn)["idempotency_keys"] == ORDERS
        assert stock(conn, sku) == 500 - ORDERS
        assert len(Client(app, "ani").get("/v1/cart").body["items"]) == 1

    @ENDS
    def test_that_ended_make_room(
        self, app: App, conn: Connection, sku: str, end: Callable[[App, Connection, OrderNumber], None]
    ) -> None:
        numbers = [bought(app, sku) for _ in range(ORDERS)]
        assert buy(app, sku, key="k-4").code == "too_many_open_orders"
        end(app, conn, numbers[1])
        assert Client(app, "ani").order("k-4").status == 201

    def test_of_others_do_not_count(self, app: App, sku: str) -> None:
        for _ in range(ORDERS):
            bought(app, sku, user="budi")
        bought(app, sku)

    def test_that_came_before_the_limit_was_lowered_count(self, app: App, sku: str) -> None:
        for _ in range(ORDERS):
            bought(app, sku)
        answer = buy(limited(app, 1, UNITS), sku)
        assert (answer.code, answer.body["open"], answer.body["limit"]) == ("too_many_open_orders", 3, 1)

    def test_are_told_after_what_the_cart_itself_says(self, app: App, sku: str) -> None:
        for _ in range(ORDERS):
            bought(app, sku)
        assert Client(app, "ani").order().code == "cart_already_ordered"
        assert Client(app, "ani").put_item(sku).status == 200
        assert Client(app, "ani").request("DELETE", f"/v1/cart/items/{sku}").status == 200
        assert Client(app, "ani").order().code == "cart_empty"


class TestUnpaidUnits:
    def test_of_a_product_are_ten_at_most_in_one_order(self, app: App, conn: Connection, sku: str) -> None:
        answer = buy(app, sku, UNITS + 1)
        assert (answer.status, answer.code) == (409, "purchase_limit_exceeded")
        assert answer.body["items"] == [{"sku": sku, "requested": UNITS + 1, "allowed": UNITS}]
        assert (written(conn)["orders"], stock(conn, sku)) == (0, 500)
        bought(app, sku, UNITS)

    def test_are_counted_over_all_unpaid_orders_and_this_one(self, app: App, sku: str) -> None:
        bought(app, sku, 4)
        bought(app, sku, 3)
        answer = buy(app, sku, 4)
        assert answer.body["items"] == [{"sku": sku, "requested": 4, "allowed": 3}]
        bought(app, sku, 3)

    def test_are_counted_for_each_product(self, app: App, conn: Connection, sku: str) -> None:
        other, third = make_product(conn, stock=500).sku, make_product(conn, stock=500).sku
        bought(app, sku, UNITS)
        bought(app, other, 6)
        fill_cart(conn, "ani", {sku: 1, other: 5, third: UNITS})
        answer = Client(app, "ani").order()
        assert sorted(answer.body["items"], key=lambda item: item["requested"]) == [
            {"sku": sku, "requested": 1, "allowed": 0},
            {"sku": other, "requested": 5, "allowed": 4},
        ]

    def test_that_are_over_a_lowered_limit_leave_none(self, app: App, sku: str) -> None:
        bought(app, sku, UNITS)
        answer = buy(limited(app, ORDERS, 4), sku, 1)
        assert answer.body["items"] == [{"sku": sku, "requested": 1, "allowed": 0}]

    @ENDS
    def test_of_an_order_that_ended_make_room(
        self, app: App, conn: Connection, sku: str, end: Callable[[App, Connection, OrderNumber], None]
    ) -> None:
        number = bought(app, sku, UNITS)
        assert buy(app, sku, 2, key="k-2").code == "purchase_limit_exceeded"
        end(app, conn, number)
        assert Client(app, "ani").order("k-2").status == 201

    def test_of_a_payment_that_does_not_fit_still_count(self, app: App, conn: Connection, sku: str) -> None:
        number = bought(app, sku, UNITS)
        tell(app, number, "paid", "one", amount_rupiah=1)
        assert buy(app, sku).code == "purchase_limit_exceeded"


class TestAReplay:
    @pytest.mark.parametrize(("open_orders", "open_units"), [(ORDERS, UNITS), (1, 1)])
    def test_is_never_refused(self, app: App, conn: Connection, sku: str, open_orders: int, open_units: int) -> None:
        """At the limit, and after it was lowered below what the customer has."""
        answers = {f"k-{number}": buy(app, sku, 3, key=f"k-{number}") for number in range(ORDERS)}
        assert buy(app, sku).status == 409
        for key, first in answers.items():
            again = Client(limited(app, open_orders, open_units), "ani").order(key)
            assert (again.status, again.text) == (201, first.text)
        assert written(conn)["orders"] == ORDERS

    def test_of_a_refused_checkout_is_looked_at_anew(self, app: App, sku: str) -> None:
        number = bought(app, sku, UNITS)
        assert buy(app, sku, key="k-2").status == 409
        assert Client(app, "ani").order("k-2").status == 409
        assert Client(app, "ani").cancel(number).status == 200
        first, again = (Client(app, "ani").order("k-2") for _ in range(2))
        assert (first.status, first.text) == (201, again.text)


class TestAnOlderRelease:
    def test_is_refused_nothing_while_a_deploy_goes_on(self, app: App, conn: Connection, sku: str) -> None:
        """It does not know these refusals, and would call them a fault of ours."""
        for _ in range(ORDERS):
            bought(app, sku)
        fill_cart(conn, "ani", {sku: 99})
        conn.execute(
            "SELECT place_order('ani', 'k-1', '', 'SKN-00000-00001', NULL, 'ani@example.com', 'id', NULL, NULL, NULL,"
            " 'request-1', gen_random_uuid(), 'send_confirmation_email', 'notifications', 50, gen_random_uuid(),"
            " '24 hours 15 minutes', NULL)"
        )
        assert written(conn)["orders"] == ORDERS + 1


class TestManyCheckoutsAtOnce:
    @pytest.mark.parametrize(
        ("first", "refusal"), [((1, 1, 1), "too_many_open_orders"), ((4, 6), "purchase_limit_exceeded")]
    )
    def test_count_what_was_ordered_while_they_waited_for_the_cart(
        self, app: App, conn: Connection, owner: Connection, sku: str, first: tuple[int, ...], refusal: str
    ) -> None:
        """The cart is ordered and filled anew in a transaction that commits while the other checkout waits for it."""
        for quantity in first[:-1]:
            bought(app, sku, quantity)
        fill_cart(conn, "ani", {sku: first[-1]})
        with ThreadPoolExecutor(1) as thread:
            with conn.transaction():
                make_order(conn, user_id="ani", lines={sku: first[-1]}, terms=USUAL)
                fill_cart(conn, "ani", {sku: 1})
                waiting = thread.submit(Client(app, "ani").order)
                wait_until(lambda: somebody_waits_for_a_lock(owner))
            answer = waiting.result(timeout=20)
        assert (answer.status, answer.code) == (409, refusal)
        assert written(conn)["orders"] == len(first)

    @pytest.mark.parametrize("limits", [(ORDERS, 100_000), (1_000, UNITS), (ORDERS, UNITS)])
    def test_do_not_get_past_the_limits(
        self, conn: Connection, database_url: str, owner: Connection, limits: tuple[int, int]
    ) -> None:
        """One script on many connections: whatever interleaves, what is held unpaid is within the limits."""
        for each in ("A", "B"):
            make_product(conn, sku=each, stock=10_000)
        open_orders, open_units = limits
        together = threading.Barrier(2 * CONNECTIONS)
        with open_app(database_url, max_connections=CONNECTIONS) as app:
            ani = Client(limited(app, open_orders, open_units), "ani")

            def grab(number: int) -> list[Answer]:
                together.wait(timeout=60)
                return [
                    answer
                    for turn in range(8)
                    for answer in (ani.put_item("AB"[(number + turn) % 2], 1 + (number + turn) % 4), ani.order())
                ]

            with ThreadPoolExecutor(2 * CONNECTIONS) as threads:
                answers = [answer for each in threads.map(grab, range(2 * CONNECTIONS)) for answer in each]
            held = held_units(conn, "ani")
            count = written(conn)["orders"]
            # What is left over is still to be had, one after the other.
            while len(open_numbers(conn, "ani")) < open_orders and held.get("A", 0) < open_units:
                fill_cart(conn, "ani", {"A": 1})
                ani.request("DELETE", "/v1/cart/items/B")
                assert ani.order().status == 201
                held = held_units(conn, "ani")
        assert Counter(answer.status for answer in answers).keys() <= {200, 201, 409}
        assert {answer.code for answer in answers if answer.status == 409} <= {
            "cart_empty",
            "cart_already_ordered",
            "concurrent_request",
            "too_many_open_orders",
            "purchase_limit_exceeded",
        }
        assert sum(answer.status == 201 for answer in answers) == count > 0
        assert len(open_numbers(conn, "ani")) <= open_orders
        assert max(held.values()) <= open_units
        row = owner.execute("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()").fetchone()
        assert row == (0,)

    def test_and_cancellations_do_not_get_past_the_limits(self, conn: Connection, database_url: str, sku: str) -> None:
        seen: list[tuple[int, int]] = []
        with open_app(database_url, max_connections=CONNECTIONS) as app, ThreadPoolExecutor(8) as threads:
            ani = Client(limited(app, ORDERS, UNITS), "ani")

            def shop(_: int) -> None:
                for _turn in range(8):
                    ani.put_item(sku, 4)
                    ani.order()

            def let_go(_: int) -> None:
                for _turn in range(8):
                    for number in ani.get("/v1/orders").body["data"]:
                        ani.cancel(number["order_number"])

            def look(_: int) -> None:
                with psycopg.connect(database_url, autocommit=True) as watcher:
                    for _turn in range(60):
                        row = watcher.execute(
                            "SELECT count(DISTINCT o.id), coalesce(sum(i.quantity), 0) FROM orders o"
                            " JOIN order_items i ON i.order_id = o.id WHERE o.status = 'pending'"
                        ).fetchone()
                        assert row is not None
                        seen.append((int(row[0]), int(row[1])))

            futures = [threads.submit(task, 0) for task in (shop, shop, shop, shop, let_go, look)]
            for future in futures:
                future.result(timeout=120)
        assert max(count for count, _ in seen) <= ORDERS
        assert max(units for _, units in seen) <= UNITS


def open_numbers(conn: Connection, user: str) -> list[str]:
    rows = conn.execute("SELECT order_number FROM orders WHERE user_id = %s AND status = 'pending'", [user])
    return [number for (number,) in rows.fetchall()]


def held_units(conn: Connection, user: str) -> dict[str, int]:
    return dict(
        conn.execute(
            "SELECT i.sku, sum(i.quantity)::integer FROM orders o JOIN order_items i ON i.order_id = o.id"
            " WHERE o.user_id = %s AND o.status = 'pending' GROUP BY i.sku",
            [user],
        ).fetchall()
    )


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.integers(0, 2), st.integers(1, 7)),
        st.tuples(st.just("order"), st.just(0), st.just(0)),
        st.tuples(st.sampled_from(["cancel", "pay", "expire"]), st.integers(0, 9), st.just(0)),
    ),
    min_size=1,
    max_size=30,
)


class Model:
    """What a customer may do, as one would say it: a cart, and what each unpaid order holds."""

    def __init__(self, open_orders: int, open_units: int) -> None:
        self.limits = (open_orders, open_units)
        self.cart: dict[str, int] = {}
        self.unpaid: dict[OrderNumber, dict[str, int]] = {}
        self.ordered = False

    def held(self, sku: str) -> int:
        return sum(order.get(sku, 0) for order in self.unpaid.values())

    def order(self) -> tuple[str, object]:
        """Say what a checkout answers: `placed`, or a code with what it tells."""
        open_orders, open_units = self.limits
        if self.ordered:
            return "cart_already_ordered", None
        if not self.cart:
            return "cart_empty", None
        if len(self.unpaid) >= open_orders:
            return "too_many_open_orders", list(self.unpaid)
        over = {
            sku: max(0, open_units - self.held(sku))
            for sku, quantity in self.cart.items()
            if quantity + self.held(sku) > open_units
        }
        return ("purchase_limit_exceeded", over) if over else ("placed", None)


class TestACustomerWithAnyHistory:
    @settings(
        max_examples=examples(25),
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=[HealthCheck.function_scoped_fixture],
    )
    @given(steps=STEPS, limits=st.tuples(st.integers(1, 3), st.integers(1, 12)))
    def test_is_refused_exactly_what_is_over_the_limits(
        self, app: App, conn: Connection, steps: list[tuple[str, int, int]], limits: tuple[int, int]
    ) -> None:
        user = make_user_id()
        skus = [make_product(conn, stock=10_000).sku for _ in range(3)]
        ani, model = Client(limited(app, *limits), user), Model(*limits)
        for step, which, quantity in steps:
            numbers = list(model.unpaid)
            if step == "put":
                fill_cart(conn, user, {skus[which]: quantity})
                model.cart[skus[which]], model.ordered = quantity, False
            elif step == "order":
                expected, reported = model.order()
                answer = ani.order()
                if expected != "placed":
                    assert (answer.status, answer.code) == (409, expected)
                    if expected == "too_many_open_orders":
                        assert answer.body["order_numbers"] == reported
                    if expected == "purchase_limit_exceeded":
                        assert {item["sku"]: item["allowed"] for item in answer.body["items"]} == reported
                    continue
                assert answer.status == 201
                model.unpaid[answer.body["order_number"]] = model.cart
                model.cart, model.ordered = {}, True
            elif numbers:
                number = numbers[which % len(numbers)]
                del model.unpaid[number]
                if step == "cancel":
                    orders.cancel(conn, UserId(user), number)
                elif step == "pay":
                    pay(conn, number)
                else:
                    expiry.expire(conn, number, attempts=0)
        assert sorted(open_numbers(conn, user)) == sorted(model.unpaid)
        assert held_units(conn, user) == {sku: model.held(sku) for sku in skus if model.held(sku)}


class TestTheCount:
    def test_reads_an_index_of_unpaid_orders_only(self, conn: Connection, owner: Connection, sku: str) -> None:
        """However many orders a customer had before."""
        owner.execute(
            "INSERT INTO orders (order_number, user_id, cart_version, status, total_rupiah, email, locale)"
            " SELECT 'SKN-' || lpad(n::text, 5, '0') || '-00000', 'ani', n, 'paid', 1, 'ani@example.com', 'id'"
            " FROM generate_series(1, 5000) n"
        )
        owner.execute("ANALYZE orders")
        plan = owner.execute(
            "EXPLAIN SELECT count(*) FROM orders o WHERE o.user_id = 'ani' AND o.status = 'pending'"
        ).fetchall()
        assert "orders_open_idx" in str(plan)
