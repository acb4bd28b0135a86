"""Starting a payment: one open attempt at a time, whoever asks how often, and no lock while the gateway is asked."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from psycopg import Connection, errors

from skincare.app import App
from skincare.identifiers import OrderNumber, UserId
from skincare.orders import repository as orders
from skincare.payments.attempts import repository
from skincare.payments.errors import GatewayMisconfigured, GatewayRefused, GatewayUnavailable, ReferenceTaken
from skincare.payments.gateways.standard_webhooks.client import StandardWebhooksClient
from skincare.payments.models import EventStatus
from tests.fakes.gateway_client import report_of
from tests.support.factories import fill_cart, make_order, make_product
from tests.support.http import Answer, Client, open_app
from tests.support.log import recorded_log
from tests.support.payments import gateway_of, order_status, run_jobs, tell
from tests.support.scripted_service import Reply, ScriptedService
from tests.support.shop import stock
from tests.support.webhooks import FixedSecrets

ANI = "ani"


def new_order(conn: Connection) -> OrderNumber:
    return make_order(conn, user_id=ANI).order.order_number


def start(app: App, order_number: str, user_id: str | None = ANI) -> Answer:
    return Client(app, user_id).request("POST", f"/v1/orders/{order_number}/payment")


def attempts(conn: Connection) -> list[tuple[int, str | None]]:
    return conn.execute("SELECT attempt_no, redirect_url FROM payment_attempts ORDER BY attempt_no").fetchall()


def let_pass(conn: Connection, time_: timedelta) -> None:
    """Move orders and attempts into the past."""
    conn.execute(
        "UPDATE payment_attempts SET expires_at = expires_at - %(t)s, created_at = created_at - %(t)s", {"t": time_}
    )
    conn.execute("UPDATE orders SET created_at = created_at - %(t)s, expires_at = expires_at - %(t)s", {"t": time_})


class TestStartingAPayment:
    def test_answers_where_to_pay_and_until_when(self, app: App, conn: Connection) -> None:
        number = new_order(conn)
        answer = start(app, number)
        assert answer.status == 200
        assert answer.body["redirect_url"] == f"https://pay.example.com/{number}.1"
        [attempt] = gateway_of(app, "standard_webhooks").started
        assert (attempt.order_number, attempt.amount_rupiah) == (number, 150_000)
        expires_at = datetime.fromisoformat(answer.body["expires_at"])
        assert expires_at == attempt.expires_at
        row = conn.execute("SELECT now()").fetchone()
        assert row is not None
        assert timedelta(minutes=59) < expires_at - row[0] <= timedelta(minutes=60)

    def test_answers_the_same_while_the_attempt_is_open(self, app: App, conn: Connection) -> None:
        number = new_order(conn)
        first = start(app, number)
        assert start(app, number).body == first.body
        assert len(gateway_of(app, "standard_webhooks").started) == 1
        assert len(attempts(conn)) == 1

    def test_ends_with_the_orders_own_time(self, app: App, conn: Connection) -> None:
        number = new_order(conn)
        let_pass(conn, timedelta(minutes=37))
        expires_at = datetime.fromisoformat(start(app, number).body["expires_at"])
        row = conn.execute("SELECT created_at + interval '60 minutes' FROM orders").fetchone()
        assert row == (expires_at,)

    def test_opens_the_next_attempt_once_the_first_has_run_out(self, app: App, conn: Connection) -> None:
        number = new_order(conn)
        start(app, number)
        # An older release opened attempts that were over before their order's day was.
        conn.execute("UPDATE payment_attempts SET expires_at = now()")
        assert start(app, number).body["redirect_url"].endswith(f"{number}.2")
        assert [attempt_no for attempt_no, _ in attempts(conn)] == [1, 2]

    def test_opens_the_next_attempt_once_the_gateway_has_closed_the_first(self, app: App, conn: Connection) -> None:
        number = new_order(conn)
        start(app, number)
        tell(app, OrderNumber(f"{number}.1"), "expired")
        assert start(app, number).body["redirect_url"].endswith(f"{number}.2")

    @pytest.mark.parametrize("reported", [("{0}.1", "failed"), ("{0}.7", "expired"), ("{0}", "expired")])
    def test_stays_with_an_attempt_that_can_still_be_paid(
        self, app: App, conn: Connection, reported: tuple[str, str]
    ) -> None:
        number = new_order(conn)
        first = start(app, number)
        tell(app, OrderNumber(reported[0].format(number)), reported[1])
        assert start(app, number).body == first.body

    def test_tells_nobody_else_where_the_page_is(self, app: App, conn: Connection) -> None:
        with recorded_log() as log:
            assert start(app, new_order(conn)).status == 200
        assert "payment.started" in log.text
        assert "pay.example.com" not in log.text

    def test_needs_a_token(self, app: App, conn: Connection) -> None:
        assert start(app, new_order(conn), user_id=None).status == 401


class TestAnOrderThatCannotBePaid:
    def test_of_somebody_else_is_answered_like_one_that_does_not_exist(self, app: App, conn: Connection) -> None:
        number = new_order(conn)
        other, missing = start(app, number, "budi"), start(app, "SKN-00000-00000", "budi")
        assert (other.status, other.code) == (404, "order_unknown")
        assert missing.body | {"request_id": "", "instance": ""} == other.body | {"request_id": "", "instance": ""}
        assert attempts(conn) == []

    def test_says_how_far_it_has_gone(self, app: App, conn: Connection) -> None:
        for status in ("paid", "cancelled", "expired", "refunded", "partially_refunded"):
            number = new_order(conn)
            conn.execute("UPDATE orders SET status = %s WHERE order_number = %s", [status, number])
            answer = start(app, number)
            assert (answer.status, answer.code, answer.body["order_status"]) == (409, "order_not_payable", status)
        assert gateway_of(app, "standard_webhooks").started == []

    def test_is_one_whose_time_is_over(self, app: App, conn: Connection) -> None:
        number = new_order(conn)
        let_pass(conn, timedelta(hours=24))
        assert (start(app, number).code, attempts(conn)) == ("order_not_payable", [])

    def test_may_become_so_while_the_gateway_is_asked(self, app: App, conn: Connection) -> None:
        number = new_order(conn)
        gateway_of(app, "standard_webhooks").while_asked = lambda: _cancel(conn, number)
        assert start(app, number).body["order_status"] == "cancelled"


def _cancel(conn: Connection, number: OrderNumber) -> None:
    orders.cancel(conn, UserId(ANI), number)


class TestManyRequestsAtOnce:
    def test_make_one_attempt_and_get_one_page(self, database_url: str, conn: Connection) -> None:
        number = new_order(conn)
        together = threading.Barrier(6)
        with open_app(database_url, max_connections=6) as app, ThreadPoolExecutor(6) as pool:
            gateway = gateway_of(app, "standard_webhooks")

            def ask(_: int) -> Answer:
                together.wait(timeout=20)
                return start(app, number)

            answers = list(pool.map(ask, range(6)))
            assert {attempt.attempt_no for attempt in gateway.started} == {1}
        assert {answer.status for answer in answers} == {200}
        assert len({answer.text for answer in answers}) == 1
        assert len(attempts(conn)) == 1

    def test_get_the_page_that_was_stored_first(self, app: App, conn: Connection) -> None:
        number = new_order(conn)
        gateway = gateway_of(app, "standard_webhooks")

        def overtake() -> None:
            conn.execute("UPDATE payment_attempts SET redirect_url = 'https://pay.example.com/first'")

        gateway.while_asked = overtake
        assert start(app, number).body["redirect_url"] == "https://pay.example.com/first"

    def test_cannot_have_the_same_number_twice(self, app: App, conn: Connection) -> None:
        start(app, new_order(conn))
        with pytest.raises(errors.UniqueViolation):
            conn.execute("INSERT INTO payment_attempts SELECT * FROM payment_attempts")


class TestAGateway:
    def test_that_is_down_is_told_by_503_and_asked_again_for_the_same_attempt(self, app: App, conn: Connection) -> None:
        number = new_order(conn)
        gateway = gateway_of(app, "standard_webhooks")
        gateway.fail_next(GatewayUnavailable("standard_webhooks", "timeout"))
        answer = start(app, number)
        assert (answer.status, answer.code, answer.headers["retry-after"]) == (503, "unavailable", "1")
        assert attempts(conn) == [(1, None)]
        assert start(app, number).status == 200
        assert [attempt.attempt_no for attempt in gateway.started] == [1]
        assert attempts(conn) == [(1, f"https://pay.example.com/{number}.1")]

    def test_whose_answer_was_lost_is_asked_again_for_the_same_attempt(
        self, app: App, conn: Connection, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        number = new_order(conn)
        with monkeypatch.context() as crash:
            crash.setattr(repository, "keep_url", lambda *_: 1 / 0)
            assert start(app, number).status == 500
        assert attempts(conn) == [(1, None)]
        assert start(app, number).status == 200
        gateway = gateway_of(app, "standard_webhooks")
        assert [attempt.reference for attempt in gateway.started] == [f"{number}.1", f"{number}.1"]
        assert attempts(conn) == [(1, f"https://pay.example.com/{number}.1")]

    def test_that_hangs_is_told_by_503_within_five_seconds(self, app: App, conn: Connection) -> None:
        number = new_order(conn)
        with ScriptedService(Reply()) as service, recorded_log() as log:
            client = StandardWebhooksClient(service.url, secrets=FixedSecrets({"standard_webhooks": ("canary",)}))
            began = time.monotonic()
            answer = start(replace(app, gateways={client.name: client}), number)
            assert time.monotonic() - began < 5
        assert (answer.status, answer.headers["retry-after"]) == (503, "1")
        assert "http.unavailable" in log.text
        assert "canary" not in log.text

    def test_that_refuses_is_told_as_such_and_is_no_error_of_ours(self, app: App, conn: Connection) -> None:
        gateway_of(app, "standard_webhooks").fail_next(GatewayRefused("standard_webhooks", "status 400"))
        with recorded_log() as log:
            answer = start(app, new_order(conn))
        assert (answer.status, answer.code) == (409, "payment_refused")
        assert "standard_webhooks refuses: status 400" in str(log.lines)
        assert "http.error" not in log.text

    def test_that_does_not_let_us_in_is_told_by_503(self, app: App, conn: Connection) -> None:
        gateway_of(app, "standard_webhooks").fail_next(GatewayMisconfigured("standard_webhooks", "status 401"))
        number = new_order(conn)
        assert start(app, number).status == 503
        assert start(app, number).status == 200


class TestAReferenceThatIsTaken:
    """Its page was made by a call whose answer we never got, and the customer has been there."""

    def test_leads_to_the_next_attempt_once_the_old_one_is_closed(self, app: App, conn: Connection) -> None:
        number = new_order(conn)
        gateway = gateway_of(app, "standard_webhooks")
        gateway.fail_next(ReferenceTaken("standard_webhooks"))
        answer = start(app, number)
        assert (answer.status, answer.body["redirect_url"]) == (200, f"https://pay.example.com/{number}.2")
        assert attempts(conn) == [(1, None), (2, f"https://pay.example.com/{number}.2")]
        assert start(app, number).body == answer.body

    def test_closes_what_waits_for_money_there(self, app: App, conn: Connection) -> None:
        number = new_order(conn)
        gateway = gateway_of(app, "standard_webhooks")
        gateway.tell(f"{number}.1", report_of(f"{number}.1", status=EventStatus.PENDING))
        gateway.fail_next(ReferenceTaken("standard_webhooks"))
        assert start(app, number).body["redirect_url"].endswith(f"{number}.2")
        assert gateway.closed == [f"{number}.1"]

    def test_that_somebody_paid_pays_the_order_and_opens_no_second_page(self, app: App, conn: Connection) -> None:
        number = new_order(conn)
        gateway = gateway_of(app, "standard_webhooks")
        gateway.tell(f"{number}.1", report_of(f"{number}.1"))
        for _ in range(2):
            gateway.fail_next(ReferenceTaken("standard_webhooks"))
            answer = start(app, number)
            assert (answer.status, answer.headers["retry-after"]) == (503, "120")
        run_jobs(app)
        assert (order_status(conn, number), attempts(conn)) == ("paid", [(1, None)])

    def test_that_somebody_is_paying_opens_no_second_page(self, app: App, conn: Connection) -> None:
        number = new_order(conn)
        gateway = gateway_of(app, "standard_webhooks")
        gateway.tell(f"{number}.1", report_of(f"{number}.1", status=EventStatus.PENDING))
        gateway.cannot_close.add(f"{number}.1")
        gateway.fail_next(ReferenceTaken("standard_webhooks"))
        assert (start(app, number).status, attempts(conn)) == (503, [(1, None)])

    def test_again_and_again_is_given_up(self, app: App, conn: Connection) -> None:
        number = new_order(conn)
        gateway = gateway_of(app, "standard_webhooks")
        gateway.ways_known_by_transaction_only = {f"{number}.{attempt_no}" for attempt_no in range(1, 9)}
        answer = start(app, number)
        assert (answer.status, answer.code) == (503, "unavailable")
        assert len(attempts(conn)) == 3

    def test_is_left_by_a_start_that_died_before_it_could_go_on(
        self, app: App, conn: Connection, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        number = new_order(conn)
        gateway = gateway_of(app, "standard_webhooks")
        gateway.tell(f"{number}.1", report_of(f"{number}.1", status=EventStatus.PENDING))
        gateway.fail_next(ReferenceTaken("standard_webhooks"))
        with monkeypatch.context() as crash:
            crash.setattr(repository, "close", lambda *_: 1 / 0)
            assert start(app, number).status == 500
        assert attempts(conn) == [(1, None)]
        assert start(app, number).body["redirect_url"].endswith(f"{number}.2")
        assert gateway.closed == [f"{number}.1", f"{number}.1"]


class TestASlowGateway:
    def test_that_is_not_configured_is_named_in_the_log(self, app: App, conn: Connection) -> None:
        number = new_order(conn)
        with recorded_log() as log:
            answers = [
                start(replace(app, gateways={}), number),
                start(replace(app, settings=replace(app.settings, payment_gateway=None)), number),
            ]
        assert {(answer.status, answer.headers["retry-after"]) for answer in answers} == {(503, "60")}
        assert "GATEWAY_URL_STANDARD_WEBHOOKS" in str(log.lines)
        assert "PAYMENT_GATEWAY" in str(log.lines)
        assert attempts(conn) == []

    def test_that_is_slow_holds_up_no_other_buyer_of_the_same_item(self, database_url: str, conn: Connection) -> None:
        sku = make_product(conn, stock=5).sku
        number = make_order(conn, user_id=ANI, lines={sku: 1}).order.order_number
        asked, answered = threading.Event(), threading.Event()
        with open_app(database_url, max_connections=2) as app, ThreadPoolExecutor(1) as pool:

            def wait() -> None:
                asked.set()
                assert answered.wait(timeout=20)

            gateway_of(app, "standard_webhooks").while_asked = wait
            slow = pool.submit(start, app, number)
            assert asked.wait(timeout=20)
            fill_cart(conn, "budi", {sku: 1})
            began = time.monotonic()
            try:
                assert Client(app, "budi").order().status == 201
                assert Client(app, ANI).cancel(number).status == 200
                assert time.monotonic() - began < 1
            finally:
                answered.set()
            assert slow.result(timeout=20).code == "order_not_payable"
        assert (stock(conn, sku), order_status(conn, number)) == (4, "cancelled")
