"""The checkout over HTTP: all of it or nothing, and the reason when it is nothing."""

import contextlib
import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from psycopg import Connection, errors
from psycopg.rows import dict_row

from skincare.app import App
from skincare.carts.models import MAX_LINES
from skincare.deployment.queues import QueueName
from skincare.jobs.ports import EnqueueFailure, OutgoingMessage, QueuePair, QueueUnavailable
from skincare.jobs.publisher import Publisher
from tests.fakes.queue import MemoryQueue
from tests.support.factories import fill_cart, make_order, make_product, make_user_id
from tests.support.http import Client, RecordingPublisher, open_app
from tests.support.randomness import examples
from tests.support.shop import set_price, stock, written
from tests.support.wire import Wire

NOTHING = {"orders": 0, "order_items": 0, "idempotency_keys": 0, "jobs": 0, "timers": 0}


def only_row(conn: Connection, table: str) -> dict[str, Any]:
    cur = conn.cursor(row_factory=dict_row)
    (row,) = cur.execute(psycopg.sql.SQL("SELECT * FROM {}").format(psycopg.sql.Identifier(table))).fetchall()
    return row


def only_job(conn: Connection) -> dict[str, Any]:
    """The job that the order's process publishes; its timer waits for the relay."""
    (row,) = conn.cursor(row_factory=dict_row).execute("SELECT * FROM jobs WHERE run_at IS NULL").fetchall()
    return row


class TestACheckout:
    def test_answers_the_order_and_where_it_is(self, conn: Connection, app: App) -> None:
        serum = make_product(conn, sku="SERUM", name="Serum", price_rupiah=150_000).sku
        toner = make_product(conn, sku="TONER", name="Toner", price_rupiah=90_000).sku
        fill_cart(conn, "ani", {toner: 1, serum: 2})
        answer = Client(app, "ani").order()
        number = answer.body["order_number"]
        assert (answer.status, answer.headers["location"]) == (201, f"/v1/orders/{number}")
        assert answer.body | {"order_number": "", "created_at": "", "expires_at": ""} == {
            "order_number": "",
            "status": "pending",
            "payment_status": "unpaid",
            "total_rupiah": 390_000,
            "created_at": "",
            "expires_at": "",
            "items": [
                {
                    "sku": "SERUM",
                    "name": "Serum",
                    "quantity": 2,
                    "unit_price_rupiah": 150_000,
                    "line_total_rupiah": 300_000,
                },
                {
                    "sku": "TONER",
                    "name": "Toner",
                    "quantity": 1,
                    "unit_price_rupiah": 90_000,
                    "line_total_rupiah": 90_000,
                },
            ],
        }
        assert answer.body["created_at"].endswith("Z")

    def test_takes_the_units_and_empties_the_cart(self, conn: Connection, app: App) -> None:
        sku = make_product(conn, stock=5).sku
        fill_cart(conn, "ani", {sku: 2})
        Client(app, "ani").order()
        assert stock(conn, sku) == 3
        assert Client(app, "ani").get("/v1/cart").body["items"] == []

    def test_writes_the_order_with_its_one_job_and_publishes_that(self, conn: Connection, database_url: str) -> None:
        publisher = RecordingPublisher()
        fill_cart(conn, "ani", {make_product(conn).sku: 1})
        with open_app(database_url, publisher=publisher) as app:
            answer = Client(app, "ani").order()
        number = answer.body["order_number"]
        row = only_job(conn)
        assert (row["job_type"], row["queue"], row["state"]) == ("send_confirmation_email", "notifications", "pending")
        assert row["payload"] == {"order_number": number}
        assert (row["order_number"], row["request_id"]) == (number, answer.headers["x-request-id"])
        (job,) = publisher.jobs
        assert (
            job.job_id,
            job.job_type,
            job.queue,
            job.payload,
            job.publish_at,
            job.request_id,
            job.order_number,
        ) == tuple(
            row[name] for name in ("id", "job_type", "queue", "payload", "publish_at", "request_id", "order_number")
        )

    def test_keeps_what_the_mail_needs_to_know(self, conn: Connection, app: App) -> None:
        fill_cart(conn, "ani", {make_product(conn).sku: 1})
        wishes = {"recipient_name": "Siti 🌸", "shipping_address": "Jl. Melati 5\nBandung", "note": "Bel — “dua” kali"}
        answer = Client(app, "ani", email="Ani@EXAMPLE.com", locale="en-GB").order(body=wishes)
        row = only_row(conn, "orders")
        assert {name: row[name] for name in wishes} == wishes
        assert (row["email"], row["locale"], row["user_id"]) == ("Ani@example.com", "en", "ani")
        assert row["request_id"] == answer.headers["x-request-id"]

    def test_speaks_indonesian_unless_the_browser_asks_for_english(self, conn: Connection, app: App) -> None:
        sku = make_product(conn).sku
        for user, accept_language in (("ani", "fr"), ("budi", "en;q=0.5")):
            fill_cart(conn, user, {sku: 1})
            headers = {"idempotency-key": "k", "accept-language": accept_language}
            assert Client(app, user).request("POST", "/v1/orders", body={}, headers=headers).status == 201
        assert conn.execute("SELECT user_id, locale FROM orders ORDER BY user_id").fetchall() == [
            ("ani", "id"),
            ("budi", "en"),
        ]

    def test_refuses_fields_that_are_not_the_customers_to_set(self, conn: Connection, app: App) -> None:
        fill_cart(conn, "ani", {make_product(conn).sku: 1})
        answer = Client(app, "ani").order(body={"price": 1, "status": "paid", "user_id": "99", "total": 0})
        assert (answer.status, sorted(answer.pointers)) == (422, ["/price", "/status", "/total", "/user_id"])
        assert written(conn) == NOTHING

    def test_of_fifty_lines_of_the_dearest_overflows_nothing(self, conn: Connection, app: App) -> None:
        skus = [make_product(conn, price_rupiah=100_000_000, stock=99).sku for _ in range(MAX_LINES)]
        fill_cart(conn, "ani", dict.fromkeys(skus, 99))
        answer = Client(app, "ani").order(body={"expected_total_rupiah": 50 * 99 * 100_000_000})
        assert (answer.status, answer.body["total_rupiah"]) == (201, 495_000_000_000)


class TestARefusedCheckout:
    """Whatever refuses it, no row is written, no unit is taken, and the cart is as it was."""

    def check_nothing_happened(self, conn: Connection, cart: dict[str, int], **stocks: int) -> None:
        assert written(conn) == NOTHING
        assert {sku: stock(conn, sku) for sku in stocks} == stocks
        rows = conn.execute(
            "SELECT p.sku, i.quantity FROM cart_items i JOIN products p ON p.id = i.product_id"
        ).fetchall()
        assert dict(rows) == cart

    def test_for_stock_names_each_sku_and_what_is_left(self, conn: Connection, app: App) -> None:
        for sku, left in (("A", 1), ("B", 5), ("C", 0)):
            make_product(conn, sku=sku, stock=left)
        cart = {"C": 1, "A": 2, "B": 5}
        fill_cart(conn, "ani", cart)
        answer = Client(app, "ani").order()
        assert (answer.status, answer.code) == (409, "out_of_stock")
        assert answer.body["items"] == [
            {"sku": "C", "requested": 1, "available": 0},
            {"sku": "A", "requested": 2, "available": 1},
        ]
        self.check_nothing_happened(conn, cart, A=1, B=5, C=0)

    def test_for_its_price_tells_the_new_total(self, conn: Connection, app: App) -> None:
        make_product(conn, sku="A", price_rupiah=100_000)
        fill_cart(conn, "ani", {"A": 2})
        set_price(conn, "A", 120_000)
        answer = Client(app, "ani").order("k-1", {"expected_total_rupiah": 200_000})
        assert (answer.status, answer.code, answer.body["total_rupiah"]) == (409, "price_changed", 240_000)
        self.check_nothing_happened(conn, {"A": 2}, A=10)
        again = Client(app, "ani").order("k-1", {"expected_total_rupiah": 240_000})
        assert (again.status, again.body["total_rupiah"]) == (201, 240_000)

    @pytest.mark.parametrize("expected", [None, 100_000, 120_000])
    def test_is_not_refused_for_a_lower_price_and_passes_it_on(
        self, conn: Connection, app: App, expected: int | None
    ) -> None:
        make_product(conn, sku="A", price_rupiah=120_000)
        fill_cart(conn, "ani", {"A": 1})
        set_price(conn, "A", 100_000)
        answer = Client(app, "ani").order(body={"expected_total_rupiah": expected})
        assert (answer.status, answer.body["total_rupiah"]) == (201, 100_000)

    @pytest.mark.parametrize("cart", [None, {}, {"A": 1}])
    def test_for_an_empty_cart_says_so(self, conn: Connection, app: App, cart: dict[str, int] | None) -> None:
        make_product(conn, sku="A")
        if cart:
            fill_cart(conn, "ani", cart)
            Client(app, "ani").request("DELETE", "/v1/cart/items/A")
        answer = Client(app, "ani").order()
        assert (answer.status, answer.code) == (409, "cart_empty")
        self.check_nothing_happened(conn, {})

    def test_for_a_key_that_is_missing_or_doubled_leaves_everything(self, conn: Connection, app: App) -> None:
        make_product(conn, sku="A")
        fill_cart(conn, "ani", {"A": 1})
        for headers in ({}, {"idempotency-key": "k-1,k-2"}, {"idempotency-key": "k\x00"}):
            assert Client(app, "ani").request("POST", "/v1/orders", body={}, headers=headers).status == 400
        self.check_nothing_happened(conn, {"A": 1}, A=10)

    @pytest.mark.parametrize("field", ["recipient_name", "shipping_address", "note"])
    def test_for_text_that_no_column_takes_names_it(self, conn: Connection, app: App, field: str) -> None:
        make_product(conn, sku="A")
        fill_cart(conn, "ani", {"A": 1})
        answer = Client(app, "ani").order("k-1", {field: "Ani\x00"})
        assert (answer.status, answer.pointers) == (422, [f"/{field}"])
        self.check_nothing_happened(conn, {"A": 1}, A=10)
        assert Client(app, "ani").order("k-1", {field: "Ani"}).status == 201

    @pytest.mark.parametrize("text", ['{"items":[{"sku":1,}', "", '{"note":NaN}', "[" * 5000])
    def test_for_a_body_that_is_none_stores_no_key(self, conn: Connection, app: App, text: str) -> None:
        make_product(conn, sku="A")
        fill_cart(conn, "ani", {"A": 1})
        assert Client(app, "ani").order("k-1", text).status == 400
        self.check_nothing_happened(conn, {"A": 1}, A=10)
        assert Client(app, "ani").order("k-1").status == 201

    def test_for_an_address_that_cannot_be_mailed_leaves_everything(self, conn: Connection, app: App) -> None:
        make_product(conn, sku="A")
        fill_cart(conn, "ani", {"A": 1})
        answer = Client(app, "ani", email="ani\u200b@example.com").order()
        assert (answer.status, answer.pointers) == (422, ["/claims/email"])
        self.check_nothing_happened(conn, {"A": 1}, A=10)

    def test_that_is_overtaken_asks_to_be_repeated(self, conn: Connection, app: App, owner_url: str) -> None:
        """What refused it is over before it could be explained: here a constraint that leaves no trace."""
        make_product(conn, sku="A")
        fill_cart(conn, "ani", {"A": 1})
        with psycopg.connect(owner_url, autocommit=True) as owner:
            owner.execute("ALTER TABLE products ADD CONSTRAINT never CHECK (stock >= 10)")
            owner.execute("ALTER TABLE products DROP CONSTRAINT products_stock_not_negative")
            owner.execute("ALTER TABLE products RENAME CONSTRAINT never TO products_stock_not_negative")
        answer = Client(app, "ani").order()
        assert (answer.status, answer.code, answer.headers["retry-after"]) == (409, "concurrent_request", "1")
        self.check_nothing_happened(conn, {"A": 1}, A=10)

    def test_for_a_number_that_another_order_has_asks_to_be_repeated(
        self, conn: Connection, app: App, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        taken = make_order(conn, user_id="budi").order.order_number
        make_product(conn, sku="A")
        fill_cart(conn, "ani", {"A": 1})
        with monkeypatch.context() as patch:
            patch.setattr("skincare.orders.service.new_order_number", lambda: taken)
            assert Client(app, "ani").order("k-1").code == "concurrent_request"
        assert (stock(conn, "A"), written(conn)["orders"]) == (10, 1)
        assert Client(app, "ani").order("k-1").status == 201

    def test_is_the_databases_word_on_a_cart_that_grew_too_long(self, conn: Connection, app: App) -> None:
        make_product(conn, sku="A")
        fill_cart(conn, "ani", {"A": 1})
        conn.execute(
            "INSERT INTO products (sku, name, price_rupiah, stock)"
            " SELECT 'P' || n, 'P', 1, 1 FROM generate_series(1, 50) n"
        )
        conn.execute("INSERT INTO cart_items SELECT 'ani', id, 1 FROM products WHERE sku <> 'A'")
        assert Client(app, "ani").order().code == "cart_full"
        assert written(conn) == NOTHING


class TestMoney:
    @settings(deadline=None, max_examples=examples(15))
    @given(
        st.lists(
            st.tuples(st.integers(1, 100_000_000), st.integers(1, 99), st.integers(0, 120)), min_size=1, max_size=6
        ),
        st.integers(-2, 2),
    )
    def check_any_cart(self, conn: Connection, app: App, lines: list[tuple[int, int, int]], off: int) -> None:
        products = [make_product(conn, price_rupiah=price, stock=left) for price, _, left in lines]
        user = make_user_id()
        fill_cart(conn, user, {product.sku: line[1] for product, line in zip(products, lines, strict=True)})
        total = sum(price * quantity for price, quantity, _ in lines)
        answer = Client(app, user).order(body={"expected_total_rupiah": max(1, total + off)})
        if any(left < quantity for _, quantity, left in lines):
            assert (answer.status, answer.code) == (409, "out_of_stock")
        elif max(1, total + off) < total:
            assert (answer.code, answer.body["total_rupiah"]) == ("price_changed", total)
        else:
            assert (answer.status, answer.body["total_rupiah"]) == (201, total)
            assert sum(item["line_total_rupiah"] for item in answer.body["items"]) == total
        taken = answer.status == 201
        for product, (_, quantity, left) in zip(products, lines, strict=True):
            assert stock(conn, product.sku) == left - quantity * taken

    def test_is_exact_for_any_cart(self, conn: Connection, app: App) -> None:
        self.check_any_cart(conn, app)

    @pytest.mark.parametrize("quantity", [0, -5, 100])
    def test_cannot_be_lowered_by_a_line_that_the_database_should_not_hold(
        self, conn: Connection, owner_url: str, quantity: int
    ) -> None:
        placed = make_order(conn)
        with psycopg.connect(owner_url) as owner, pytest.raises(errors.CheckViolation):
            owner.execute(
                "UPDATE order_items SET quantity = %s WHERE order_id = (SELECT id FROM orders WHERE order_number = %s)",
                [quantity, placed.order.order_number],
            )


class RefusingQueue:
    """A queue service that is down, or that takes the call and fails in the middle."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def enqueue(self, messages: list[OutgoingMessage]) -> list[EnqueueFailure]:
        raise self.error


class TestAQueueThatIsAway:
    @pytest.mark.parametrize("error", [QueueUnavailable("SQS did not answer"), RuntimeError("unforeseen")])
    def test_costs_the_customer_nothing(self, conn: Connection, database_url: str, error: Exception) -> None:
        fill_cart(conn, "ani", {make_product(conn).sku: 1})
        with open_app(database_url) as app:
            queue: Any = RefusingQueue(error)
            publisher = Publisher(app.database, {QueueName.NOTIFICATIONS: QueuePair(queue, queue)})
            with open_app(database_url, publisher=publisher) as without_queue:
                first = Client(without_queue, "ani").order("k-1")
                second = Client(without_queue, "ani").order("k-1")
        assert (first.status, second.status, first.text) == (201, 201, second.text)
        row = only_job(conn)
        assert (row["state"], row["publish_at"] is None) == ("pending", False)


class TestTheWayToTheDatabase:
    def round_trips(self, wire: Wire) -> int:
        """One for each message after which PostgreSQL says that it is ready again."""
        return sum(kind in {"S", "Q"} for kind, _ in wire.said())

    @contextlib.contextmanager
    def shop(self, wire: Wire) -> Iterator[tuple[App, MemoryQueue]]:
        """An App that publishes as the real one does."""
        queue = MemoryQueue()
        with open_app(wire.url) as app:
            publisher = Publisher(app.database, {QueueName.NOTIFICATIONS: QueuePair(queue, MemoryQueue())})
            Client(app).get("/health")  # connected: opening a connection is no part of a checkout
            yield replace(app, publisher=publisher), queue

    def test_is_gone_once_for_an_order_and_once_for_its_repetition(self, conn: Connection, database_url: str) -> None:
        fill_cart(conn, "ani", {make_product(conn).sku: 1, make_product(conn).sku: 2})
        with Wire(database_url) as wire, self.shop(wire) as (app, queue):
            before = self.round_trips(wire)
            assert Client(app, "ani").order("k-1").status == 201
            assert self.round_trips(wire) - before == 1
            assert (len(queue.all()), only_job(conn)["state"]) == (1, "pending")
            assert Client(app, "ani").order("k-1").status == 201
            assert self.round_trips(wire) - before == 2

    @pytest.mark.parametrize(
        ("cart", "body", "code"),
        [
            ({"A": 11}, {}, "out_of_stock"),
            ({"A": 1, "B": 99}, {}, "out_of_stock"),
            ({"A": 1}, {"expected_total_rupiah": 1}, "price_changed"),
            ({}, {}, "cart_empty"),
        ],
    )
    def test_is_gone_twice_at_most_for_a_refusal(
        self, conn: Connection, database_url: str, cart: dict[str, int], body: object, code: str
    ) -> None:
        make_product(conn, sku="A")
        make_product(conn, sku="B")
        fill_cart(conn, "ani", cart)
        with Wire(database_url) as wire, self.shop(wire) as (app, _):
            before = self.round_trips(wire)
            assert Client(app, "ani").order(body=body).code == code
            assert self.round_trips(wire) - before == 2

    def test_leaves_nothing_behind_that_would_pin_a_proxied_connection(
        self, conn: Connection, database_url: str
    ) -> None:
        sku = make_product(conn, stock=5).sku
        with Wire(database_url) as wire, open_app(wire.url) as app:
            client = Client(app, "ani")
            for _ in range(8):
                client.put_item(sku)
                order = client.order()
                client.order()
            assert order.code == "out_of_stock"
            for number in [each["order_number"] for each in client.get("/v1/orders").body["data"]]:
                client.get(f"/v1/orders/{number}")
                client.cancel(number)
            client.request("DELETE", f"/v1/cart/items/{sku}")
            assert wire.pins() == []


class TestADatabaseThatIsAway:
    def test_is_503_and_the_next_request_works_when_it_is_back(self, conn: Connection, database_url: str) -> None:
        fill_cart(conn, "ani", {make_product(conn).sku: 1})
        with Wire(database_url) as wire, open_app(wire.url) as app:
            assert Client(app).get("/health").status == 200
            wire.cut()
            assert Client(app, "ani").order("k-1").status == 201
        with open_app(wire.url) as app:
            answer = Client(app, "ani").order("k-1")
            assert (answer.status, answer.code, answer.headers["retry-after"]) == (503, "unavailable", "1")
            assert Client(app).get("/health").status == 503


def test_the_answer_holds_no_float(conn: Connection, app: App) -> None:
    fill_cart(conn, "ani", {make_product(conn).sku: 1})
    answer = Client(app, "ani").order()
    json.loads(answer.text, parse_float=lambda text: pytest.fail(f"{text} is a float"))
