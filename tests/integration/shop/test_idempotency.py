"""One key, one order: whatever is repeated, raced, cut off or killed."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import product as combinations

import psycopg
import pytest
from psycopg import Connection

from skincare.app import App
from skincare.identifiers import new_job_id, new_order_number
from skincare.orders import repository
from tests.support.factories import fill_cart, make_place_order, make_product
from tests.support.http import Client, RecordingPublisher, open_app
from tests.support.shop import set_price, somebody_waits_for_a_lock, stock, wait_until, written
from tests.support.wire import Break, Wire

ONE_ORDER = {"orders": 1, "order_items": 1, "idempotency_keys": 1, "jobs": 1, "timers": 1}


@pytest.fixture
def sku(conn: Connection) -> str:
    """A product of which a customer wants one unit."""
    sku = make_product(conn, stock=10).sku
    fill_cart(conn, "ani", {sku: 1})
    return sku


@pytest.fixture
def other(database_url: str) -> Iterator[Connection]:
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


class TestTheSameRequestAgain:
    def test_gets_the_first_answer_to_the_letter(self, conn: Connection, app: App, sku: str) -> None:
        first, second = (Client(app, "ani").order("k-1", {"note": "x"}) for _ in range(2))
        assert (first.status, second.status, first.text) == (201, 201, second.text)
        assert first.headers["location"] == second.headers["location"]
        assert written(conn) == ONE_ORDER
        assert stock(conn, sku) == 9

    def test_publishes_nothing_again(self, conn: Connection, database_url: str, sku: str) -> None:
        publisher = RecordingPublisher()
        with open_app(database_url, publisher=publisher) as app:
            for _ in range(3):
                Client(app, "ani").order("k-1")
        assert len(publisher.jobs) == 1

    @pytest.mark.parametrize(
        "key", ["k-1", '"k-1"', " k-1", '"k-1"\t'], ids=["bare", "quoted", "padded", "quoted and padded"]
    )
    @pytest.mark.parametrize("in_base64", [False, True])
    @pytest.mark.parametrize("text", ['{"note":"é"}', '{ "note" : "\\u00e9" , "recipient_name" : null }'])
    def test_is_the_same_in_any_of_its_spellings(
        self, conn: Connection, app: App, sku: str, key: str, in_base64: bool, text: str
    ) -> None:
        first = Client(app, "ani").order("k-1", {"note": "é"})
        assert Client(app, "ani").order(key, text, in_base64=in_base64).text == first.text
        assert written(conn) == ONE_ORDER

    def test_is_answered_after_the_cart_is_gone(self, conn: Connection, app: App, sku: str) -> None:
        first = Client(app, "ani").order("k-1")
        conn.execute("DELETE FROM carts")
        assert Client(app, "ani").order("k-1").text == first.text

    def test_is_answered_as_at_first_whatever_became_of_the_order(self, conn: Connection, app: App, sku: str) -> None:
        client = Client(app, "ani")
        first = client.order("k-1")
        client.cancel(first.body["order_number"])
        set_price(conn, sku, 1)
        client.put_item(sku, 5)
        assert client.order("k-1").text == first.text
        assert client.get("/v1/cart").body["items"][0]["quantity"] == 5
        assert stock(conn, sku) == 10

    def test_may_follow_a_refusal_with_the_same_key_and_another_body(
        self, conn: Connection, app: App, sku: str
    ) -> None:
        assert Client(app, "ani").order("k-1", {"expected_total_rupiah": 1}).code == "price_changed"
        assert Client(app, "ani").order("k-1", {"note": "x"}).status == 201


class TestAnotherRequestWithTheSameKey:
    def test_is_refused_and_the_first_order_stays_as_it_was(self, conn: Connection, app: App, sku: str) -> None:
        client = Client(app, "ani")
        first = client.order("k-1", {"note": "one"})
        client.put_item(sku, 2)
        answer = client.order("k-1", {"note": "two"})
        assert (answer.status, answer.code) == (422, "idempotency_key_reused")
        assert first.body["order_number"] not in answer.text
        found = client.get(first.headers["location"]).body
        assert {name: found[name] for name in first.body} == first.body
        assert client.get("/v1/cart").body["items"][0]["quantity"] == 2
        assert written(conn) == ONE_ORDER

    def test_is_another_one_as_soon_as_any_field_differs(self, conn: Connection, app: App, sku: str) -> None:
        bodies = [
            {},
            {"note": "x"},
            {"recipient_name": "x"},
            {"shipping_address": "x"},
            {"expected_total_rupiah": 150_000},
        ]
        for number, (one, two) in enumerate(combinations(bodies, bodies)):
            user = f"customer-{number}"
            fill_cart(conn, user, {make_product(conn).sku: 1})
            assert Client(app, user).order("k", one).status == 201
            assert Client(app, user).order("k", two).status == (201 if one == two else 422)


class TestAKey:
    def test_belongs_to_its_customer(self, conn: Connection, app: App, sku: str) -> None:
        fill_cart(conn, "budi", {sku: 2})
        anis, budis = Client(app, "ani").order("k-1"), Client(app, "budi").order("k-1")
        assert (anis.status, budis.status) == (201, 201)
        assert anis.body["order_number"] != budis.body["order_number"]
        assert (anis.body["items"][0]["quantity"], budis.body["items"][0]["quantity"]) == (1, 2)
        assert Client(app, "budi").order("k-1").text == budis.text


class TestTwoKeysForOneCart:
    def test_make_one_order_and_the_second_learns_its_number(self, conn: Connection, app: App, sku: str) -> None:
        first, second = Client(app, "ani").order("k-1"), Client(app, "ani").order("k-2")
        number = first.body["order_number"]
        assert (second.status, second.code) == (409, "cart_already_ordered")
        assert (second.body["order_number"], second.body["link"]) == (number, f"/v1/orders/{number}")
        assert written(conn) == ONE_ORDER
        assert stock(conn, sku) == 9

    def test_make_one_order_when_they_race(self, conn: Connection, database_url: str, sku: str) -> None:
        with open_app(database_url, max_connections=8) as app, ThreadPoolExecutor(16) as threads:
            answers = list(threads.map(lambda number: Client(app, "ani").order(f"k-{number}"), range(16)))
        assert sorted(answer.status for answer in answers) == [201] + [409] * 15
        (number,) = {answer.body["order_number"] for answer in answers}
        assert number.startswith("SKN-")
        assert written(conn) == ONE_ORDER

    def test_make_two_orders_of_a_cart_that_was_filled_again(self, conn: Connection, app: App, sku: str) -> None:
        client = Client(app, "ani")
        first = client.order("k-1")
        client.put_item(sku, 1)
        second = client.order("k-2")
        assert (second.status, second.body["items"]) == (201, first.body["items"])
        assert second.body["order_number"] != first.body["order_number"]

    def test_are_judged_by_the_order_where_the_cart_forgot(self, conn: Connection, app: App, sku: str) -> None:
        """A cart that began anew counts its versions from 1 again, and a version becomes one order only."""
        first = Client(app, "ani").order("k-1")
        conn.execute("DELETE FROM carts")
        Client(app, "ani").put_item(sku, 1)
        answer = Client(app, "ani").order("k-2")
        assert (answer.code, answer.body["order_number"]) == ("cart_already_ordered", first.body["order_number"])


class TestADoubleClick:
    @pytest.mark.parametrize("_", range(5))
    def test_makes_one_order_and_both_hear_of_it(self, conn: Connection, database_url: str, sku: str, _: int) -> None:
        with open_app(database_url, max_connections=2) as app, ThreadPoolExecutor(2) as threads:
            first, second = threads.map(lambda _: Client(app, "ani").order("k-1"), range(2))
        assert (first.status, second.status, first.text) == (201, 201, second.text)
        assert written(conn) == ONE_ORDER

    def test_waits_for_the_first_one_to_commit(self, conn: Connection, other: Connection, app: App, sku: str) -> None:
        request = make_place_order("ani", idempotency_key="k-1")
        with ThreadPoolExecutor(1) as thread:
            with conn.transaction():
                placement = repository.place(conn, request, order_number=new_order_number(), job_id=new_job_id())
                click = thread.submit(Client(app, "ani").order, "k-1")
                wait_until(lambda: somebody_waits_for_a_lock(other))
            answer = click.result(timeout=20)
        assert (answer.status, answer.body["order_number"]) == (201, placement.order.order_number)

    def test_runs_itself_if_the_first_one_fails(self, conn: Connection, other: Connection, app: App, sku: str) -> None:
        request = make_place_order("ani", idempotency_key="k-1")
        with ThreadPoolExecutor(1) as thread:
            with conn.transaction(force_rollback=True):
                repository.place(conn, request, order_number=new_order_number(), job_id=new_job_id())
                click = thread.submit(Client(app, "ani").order, "k-1")
                wait_until(lambda: somebody_waits_for_a_lock(other))
            assert click.result(timeout=20).status == 201
        assert written(other) == ONE_ORDER

    def test_gives_up_after_the_lock_timeout_with_a_time_to_come_back(
        self, conn: Connection, database_url: str, sku: str
    ) -> None:
        assert conn.execute("SHOW lock_timeout").fetchone() == ("2s",)
        impatient = f"{database_url}&options=-c%20lock_timeout%3D100ms"
        request = make_place_order("ani", idempotency_key="k-1")
        with open_app(impatient) as app:
            with conn.transaction():
                repository.place(conn, request, order_number=new_order_number(), job_id=new_job_id())
                for key in ("k-1", "k-2"):
                    answer = Client(app, "ani").order(key)
                    assert (answer.status, answer.code, answer.headers["retry-after"]) == (
                        409,
                        "concurrent_request",
                        "1",
                    )
                assert Client(app, "ani").put_item(sku).code == "concurrent_request"
            assert Client(app, "ani").order("k-1").status == 201
        assert written(conn) == ONE_ORDER


CHECKOUT_THAT_NEVER_COMMITS = """
import sys, psycopg
from skincare.identifiers import new_job_id, new_order_number
from skincare.orders import repository
from tests.support.factories import make_place_order
with psycopg.connect(sys.argv[1], autocommit=True) as conn, conn.transaction():
    request = make_place_order("ani", idempotency_key="k-1")
    repository.place(conn, request, order_number=new_order_number(), job_id=new_job_id())
    print("reserved", flush=True)
    sys.stdin.read()
"""


class TestAProcessThatDiesBeforeItsCommit:
    def test_leaves_no_key_behind(self, conn: Connection, app: App, database_url: str, sku: str) -> None:
        with subprocess.Popen(
            [sys.executable, "-c", CHECKOUT_THAT_NEVER_COMMITS, database_url],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        ) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"reserved\n"
            process.send_signal(signal.SIGKILL)
            process.wait(timeout=20)
        answer = Client(app, "ani").order("k-1")
        assert answer.status == 201
        assert written(conn) == ONE_ORDER
        assert stock(conn, sku) == 9


class TestALinkThatDropsAtTheCommit:
    @pytest.mark.parametrize("where", Break)
    def test_is_never_told_as_a_success_and_the_retry_is_right(
        self, conn: Connection, database_url: str, sku: str, where: Break
    ) -> None:
        publisher = RecordingPublisher()
        with Wire(database_url) as wire, open_app(wire.url, publisher=publisher) as app:
            wire.cut_at("place_order", where)
            answer = Client(app, "ani").order("k-1")
            assert (answer.status, answer.code, answer.headers["retry-after"]) == (503, "unavailable", "1")
            committed = where is Break.AFTER_THE_SERVER
            wait_until(lambda: written(conn)["orders"] == committed)
            assert publisher.jobs == []
            retry = Client(app, "ani").order("k-1")
        assert retry.status == 201
        assert written(conn) == ONE_ORDER
        assert stock(conn, sku) == 9
        assert len(publisher.jobs) == (0 if committed else 1)

    def test_leaves_the_job_to_the_relay_where_nobody_heard_of_it(
        self, conn: Connection, database_url: str, sku: str
    ) -> None:
        with Wire(database_url) as wire, open_app(wire.url) as app:
            wire.cut_at("place_order", Break.AFTER_THE_SERVER)
            Client(app, "ani").order("k-1")
        wait_until(lambda: written(conn)["jobs"] == 1)
        assert conn.execute("SELECT state, publish_at > now() FROM jobs WHERE run_at IS NULL").fetchone() == (
            "pending",
            True,
        )

    @pytest.mark.parametrize("where", Break)
    def test_gives_cancelled_stock_back_once(self, conn: Connection, database_url: str, sku: str, where: Break) -> None:
        with Wire(database_url) as wire, open_app(wire.url) as app:
            client = Client(app, "ani")
            number = client.order("k-1").body["order_number"]
            wire.cut_at("cancel_order", where)
            assert client.cancel(number).status == 503
            assert client.cancel(number).status == 200
        assert stock(conn, sku) == 10


@pytest.fixture
def held_commit(owner_url: str) -> Iterator[Connection]:
    """While its lock 42 is held, whoever wrote a job waits at COMMIT."""
    with psycopg.connect(owner_url, autocommit=True) as owner:
        owner.execute("""
            CREATE FUNCTION wait_at_commit() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN PERFORM pg_advisory_xact_lock_shared(42); RETURN NULL; END $$""")
        owner.execute("""
            CREATE CONSTRAINT TRIGGER hold AFTER INSERT ON jobs DEFERRABLE INITIALLY DEFERRED
            FOR EACH ROW EXECUTE FUNCTION wait_at_commit()""")
        yield owner


class TestACommitThatTakesItsTime:
    def test_lets_nobody_see_or_send_the_job_before_it_is_done(
        self, conn: Connection, held_commit: Connection, database_url: str, sku: str
    ) -> None:
        publisher = RecordingPublisher()
        patient = f"{database_url}&options=-c%20lock_timeout%3D30s%20-c%20statement_timeout%3D30s"
        with open_app(patient, publisher=publisher) as app, ThreadPoolExecutor(1) as thread:
            held_commit.execute("SELECT pg_advisory_lock(42)")
            checkout = thread.submit(Client(app, "ani").order, "k-1")
            wait_until(lambda: somebody_waits_for_a_lock(held_commit))
            assert publisher.jobs == []
            assert set(written(conn).values()) == {0}
            held_commit.execute("SELECT pg_advisory_unlock(42)")
            assert checkout.result(timeout=20).status == 201
        assert written(conn) == ONE_ORDER
        (job,) = publisher.jobs
        assert conn.execute("SELECT id FROM jobs WHERE run_at IS NULL").fetchone() == (job.job_id,)
