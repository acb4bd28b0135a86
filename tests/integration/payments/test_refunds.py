"""Money that goes back: never more than came, asked of the gateway under one key, booked once by its event."""

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from psycopg import Connection

from skincare.app import App
from skincare.errors import TransientError
from skincare.identifiers import OrderNumber, UserId
from skincare.jobs.catalog import SendRefund
from skincare.orders import repository as orders
from skincare.orders.errors import OrderUnknown
from skincare.payments.errors import (
    GatewayMisconfigured,
    GatewayRefused,
    GatewayUnavailable,
    RefundNotPossible,
    RefundOvertaken,
    RefundUnknown,
)
from skincare.payments.refunds.models import RefundRequest, RefundRow
from tests.fakes.gateway_client import FakeGatewayClient, report_of
from tests.support.factories import make_order
from tests.support.http import open_app
from tests.support.payments import anomalies, ask_for_refund, new_order, order_status, payments, tell
from tests.support.timers import asking
from worker.handlers import send_refund

TOTAL = 150_000


def ask_for(app: App, number: OrderNumber, amount: int | None = None, **changes: Any) -> RefundRow:
    request = RefundRequest(number, "damaged in transit", "service desk", amount, **changes)
    return ask_for_refund(app, request)


def send(app: App, key: str) -> None:
    send_refund.handle(SendRefund(refund_key=key), app)


def reported(app: App, number: OrderNumber, refund: RefundRow, *, times: int = 1) -> None:
    """The gateway's event of a refund of ours, with its own event key and our refund key."""
    for _ in range(times):
        tell(
            app,
            number,
            "partially_refunded",
            refund.transaction_id,
            key=f"event-of-{refund.key}",
            minute=9,
            amount_rupiah=refund.amount_rupiah,
            refund_id=refund.key,
        )


def asking_about(app: App) -> tuple[App, FakeGatewayClient]:
    """An App whose gateway knows of the payment `one`."""
    app, client = asking(app)
    client.tell("x.1", report_of("x.1", "one"))
    return app, client


def refused(app: App, client: FakeGatewayClient, number: OrderNumber) -> RefundRow:
    """A refund of all that is left, which the gateway would not make."""
    refund = ask_for(app, number)
    client.fail_next(GatewayRefused("standard_webhooks", "too old"))
    with pytest.raises(GatewayRefused):
        send(app, refund.key)
    return refund


def keys(client: FakeGatewayClient) -> list[str]:
    """The keys under which money was given back."""
    return [refund.key for refund in client.refunds]


def states(conn: Connection) -> list[tuple[str, int]]:
    return conn.execute("SELECT state, amount_rupiah FROM refunds ORDER BY created_at, key").fetchall()


@pytest.fixture
def number(app: App, conn: Connection) -> OrderNumber:
    """An order that is paid."""
    number = new_order(conn)
    tell(app, number, "paid", "one")
    return number


class TestARefund:
    def test_started_here_and_told_twice_is_booked_once(self, app: App, conn: Connection, number: OrderNumber) -> None:
        app, client = asking_about(app)
        refund = ask_for(app, number, 50_000)
        send(app, refund.key)
        assert (states(conn), order_status(conn, number)) == ([("sent", 50_000)], "paid")
        reported(app, number, refund, times=2)
        assert payments(conn) == [("one", "partially_refunded", TOTAL, 50_000, True)]
        assert (states(conn), order_status(conn, number)) == ([("booked", 50_000)], "partially_refunded")
        assert (keys(client), anomalies(conn)) == ([refund.key], [])

    def test_is_written_with_its_job_and_asked_of_nobody_yet(
        self, app: App, conn: Connection, number: OrderNumber
    ) -> None:
        app, client = asking_about(app)
        refund = ask_for(app, number)
        job = SendRefund(refund_key=refund.key)
        row = conn.execute(
            "SELECT payload, order_number, queue, unique_key FROM jobs WHERE job_type = 'send_refund'"
        ).fetchone()
        assert row == (job.model_dump(), number, "payments", job.unique_key)
        assert (states(conn), client.refunds) == ([("requested", TOTAL)], [])

    def test_of_all_that_is_left_needs_no_amount(self, app: App, conn: Connection, number: OrderNumber) -> None:
        app, _ = asking_about(app)
        for amount, left in ((60_000, 60_000), (None, 90_000)):
            refund = ask_for(app, number, amount)
            assert refund.amount_rupiah == left
            reported(app, number, refund)
        assert (order_status(conn, number), payments(conn)[0][3]) == ("refunded", TOTAL)

    def test_tells_the_gateway_whose_money_and_under_which_key(
        self, app: App, conn: Connection, number: OrderNumber
    ) -> None:
        app, client = asking_about(app)
        refund = ask_for(app, number, 1)
        send(app, refund.key)
        [sent] = client.refunds
        assert (sent.order_number, sent.transaction_id, sent.amount_rupiah, sent.key, sent.reason) == (
            number,
            "one",
            1,
            refund.key,
            "damaged in transit",
        )

    def test_whose_event_is_faster_than_its_mark_is_booked(
        self, app: App, conn: Connection, number: OrderNumber
    ) -> None:
        app, client = asking_about(app)
        refund = ask_for(app, number, 50_000)
        client.while_asked = lambda: reported(app, number, refund)
        send(app, refund.key)
        send(app, refund.key)
        assert (states(conn), keys(client)) == ([("booked", 50_000)], [refund.key])

    def test_is_sent_again_under_its_key_after_an_answer_that_was_lost(
        self, app: App, conn: Connection, number: OrderNumber
    ) -> None:
        app, client = asking_about(app)
        refund = ask_for(app, number, 50_000)
        client.fail_next(GatewayUnavailable("standard_webhooks", "timed out"))
        with pytest.raises(GatewayUnavailable):
            send(app, refund.key)
        assert states(conn) == [("requested", 50_000)]
        send(app, refund.key)
        assert (states(conn), keys(client)) == ([("sent", 50_000)], [refund.key])

    def test_that_the_gateway_refuses_is_for_a_person_and_frees_its_money(
        self, app: App, conn: Connection, number: OrderNumber
    ) -> None:
        app, client = asking_about(app)
        refund = refused(app, client, number)
        assert (states(conn), client.refunds) == ([("refused", TOTAL)], [])
        assert ask_for(app, number).amount_rupiah == TOTAL
        assert refund.amount_rupiah == TOTAL

    def test_that_was_refused_is_sent_by_a_redrive_under_its_key(
        self, app: App, conn: Connection, number: OrderNumber
    ) -> None:
        app, client = asking_about(app)
        refund = refused(app, client, number)
        for _ in range(2):
            send(app, refund.key)
        assert (states(conn), keys(client)) == ([("sent", TOTAL)], [refund.key])
        reported(app, number, refund)
        assert (states(conn), order_status(conn, number)) == ([("booked", TOTAL)], "refunded")

    def test_that_was_refused_twice_is_refused_again(self, app: App, conn: Connection, number: OrderNumber) -> None:
        app, client = asking_about(app)
        refund = refused(app, client, number)
        client.fail_next(GatewayRefused("standard_webhooks", "still too old"))
        with pytest.raises(GatewayRefused):
            send(app, refund.key)
        assert conn.execute("SELECT state, refusal FROM refunds").fetchall() == [
            ("refused", "standard_webhooks refuses: still too old")
        ]

    @pytest.mark.parametrize("then", ["asked for", "sent", "booked"])
    def test_that_was_refused_is_not_sent_where_another_has_its_money(
        self, app: App, conn: Connection, number: OrderNumber, then: str
    ) -> None:
        app, client = asking_about(app)
        first = refused(app, client, number)
        second = ask_for(app, number, 1)
        if then != "asked for":
            send(app, second.key)
        if then == "booked":
            reported(app, number, second)
        with pytest.raises(RefundOvertaken):
            send(app, first.key)
        assert first.key not in keys(client)
        assert ("refused", TOTAL) in states(conn)

    def test_that_was_refused_and_one_for_its_money_at_once_have_one_winner(
        self, app: App, conn: Connection, number: OrderNumber, database_url: str
    ) -> None:
        app, client = asking_about(app)
        first = refused(app, client, number)
        ready = threading.Barrier(2)

        def again(app: App) -> bool:
            ready.wait(timeout=20)
            try:
                send(app, first.key)
            except RefundOvertaken:
                return False
            return True

        def another(app: App) -> bool:
            ready.wait(timeout=20)
            try:
                ask_for(app, number)
            except RefundNotPossible:
                return False
            return True

        with open_app(database_url, max_connections=2) as opened, ThreadPoolExecutor(2) as pool:
            many = replace(opened, gateways=app.gateways)
            done = [pool.submit(again, many), pool.submit(another, many)]
            assert sum(each.result(timeout=30) for each in done) == 1
        on_their_way = conn.execute("SELECT sum(amount_rupiah) FROM refunds WHERE state <> 'refused'").fetchone()
        assert on_their_way == (TOTAL,)

    @pytest.mark.parametrize("meanwhile", ["chargeback", "voided", "refunded"])
    def test_whose_money_went_otherwise_while_it_waited_is_not_sent(
        self, app: App, conn: Connection, number: OrderNumber, meanwhile: str
    ) -> None:
        app, client = asking_about(app)
        refund = ask_for(app, number, 50_000)
        client.fail_next(GatewayUnavailable("standard_webhooks", "timed out"))
        with pytest.raises(GatewayUnavailable):
            send(app, refund.key)
        tell(app, number, meanwhile, "one", minute=5)
        with pytest.raises(RefundOvertaken):
            send(app, refund.key)
        assert (states(conn), keys(client)) == ([("refused", 50_000)], [])
        reported(app, number, refund)  # The answer that was lost said yes: the event still books it.
        assert states(conn) == [("booked", 50_000)]

    def test_is_sent_beside_another_that_takes_no_money_of_its(
        self, app: App, conn: Connection, number: OrderNumber
    ) -> None:
        """A part went back in the gateway's dashboard: what is left is enough for one of the two, and that one goes."""
        app, client = asking_about(app)
        large, small = ask_for(app, number, 90_000), ask_for(app, number, 60_000)
        tell(app, number, "partially_refunded", "one", minute=5, amount_rupiah=80_000)
        with pytest.raises(RefundOvertaken):
            send(app, large.key)
        send(app, small.key)
        assert (sorted(states(conn)), keys(client)) == ([("refused", 90_000), ("sent", 60_000)], [small.key])

    def test_at_a_gateway_that_does_not_let_us_in_waits_and_is_sent_later(
        self, app: App, conn: Connection, number: OrderNumber
    ) -> None:
        """A key that is being replaced is no refusal of the refund."""
        app, client = asking_about(app)
        refund = ask_for(app, number)
        client.fail_next(GatewayMisconfigured("standard_webhooks", "status 401"))
        with pytest.raises(GatewayMisconfigured) as raised:
            send(app, refund.key)
        assert isinstance(raised.value, TransientError)
        assert states(conn) == [("requested", TOTAL)]
        send(app, refund.key)
        assert (states(conn), keys(client)) == ([("sent", TOTAL)], [refund.key])

    def test_of_a_gateway_that_nobody_can_ask_waits(self, app: App, conn: Connection, number: OrderNumber) -> None:
        refund = ask_for(app, number)
        with pytest.raises(GatewayUnavailable):
            send(replace(app, gateways={}), refund.key)
        assert states(conn) == [("requested", TOTAL)]

    def test_that_nobody_asked_for_is_not_sent(self, app: App) -> None:
        with pytest.raises(RefundUnknown):
            send(app, "nothing")


class TestARequest:
    def test_is_one_refund_however_often_it_is_made(self, app: App, conn: Connection, number: OrderNumber) -> None:
        first = ask_for(app, number, 50_000, key="k-1")
        assert ask_for(app, number, 50_000, key="k-1") == ask_for(app, number, key="k-1") == first
        assert states(conn) == [("requested", 50_000)]

    @pytest.mark.parametrize("changes", [{"amount": 50_001}, {"transaction_id": "two"}])
    def test_of_a_key_that_means_something_else_is_refused(
        self, app: App, conn: Connection, number: OrderNumber, changes: dict[str, Any]
    ) -> None:
        ask_for(app, number, 50_000, key="k-1")
        with pytest.raises(RefundNotPossible):
            ask_for(app, number, key="k-1", **changes)
        other = new_order(conn)
        with pytest.raises(RefundNotPossible):
            ask_for(app, other, 50_000, key="k-1")
        assert len(states(conn)) == 1

    def test_for_more_than_is_left_is_refused_before_anything_is_sent(
        self, app: App, conn: Connection, number: OrderNumber
    ) -> None:
        reported(app, number, ask_for(app, number, 30_000))
        ask_for(app, number, 30_000)
        for amount in (90_001, TOTAL):
            with pytest.raises(RefundNotPossible, match=r"Rp90\.000 are left"):
                ask_for(app, number, amount)
        assert ask_for(app, number, 90_000).amount_rupiah == 90_000
        with pytest.raises(RefundNotPossible, match="Rp0 are left"):
            ask_for(app, number)

    def test_for_money_that_a_bank_took_is_refused_though_a_refund_is_on_its_way(
        self, app: App, conn: Connection, number: OrderNumber
    ) -> None:
        ask_for(app, number, 100_000)
        tell(app, number, "chargeback", "one", minute=5, amount_rupiah=20_000)
        with pytest.raises(RefundNotPossible, match="Rp0 are left"):
            ask_for(app, number, 50_000)

    def test_made_many_times_at_once_never_gives_back_more_than_came(
        self, app: App, conn: Connection, number: OrderNumber, database_url: str
    ) -> None:
        ready = threading.Barrier(6)

        def one(_: int) -> bool:
            ready.wait(timeout=20)
            try:
                ask_for(many, number, 40_000)
            except RefundNotPossible:
                return False
            return True

        with open_app(database_url, max_connections=6) as many, ThreadPoolExecutor(6) as pool:
            assert sum(pool.map(one, range(6))) == 3
        assert states(conn) == [("requested", 40_000)] * 3

    @pytest.mark.parametrize(
        "changes", [{"reason": ""}, {"reason": "x" * 201}, {"key": "a b"}, {"amount_rupiah": 0}, {"amount_rupiah": -1}]
    )
    def test_that_breaks_a_rule_is_refused(self, changes: dict[str, Any]) -> None:
        with pytest.raises(RefundNotPossible):
            replace(RefundRequest(OrderNumber("SKN-1"), "x", "x"), **changes)

    def test_for_an_order_that_is_not_there_or_not_paid_is_refused(self, app: App, conn: Connection) -> None:
        with pytest.raises(OrderUnknown):
            ask_for(app, OrderNumber("SKN-AAAAA-AAAAA"))
        with pytest.raises(RefundNotPossible):
            ask_for(app, new_order(conn))
        assert states(conn) == []


class TestAnAnomaly:
    def test_is_withdrawn_when_its_money_went_back(self, app: App, conn: Connection) -> None:
        app, _ = asking_about(app)
        number = make_order(conn, user_id="ani").order.order_number
        orders.cancel(conn, UserId("ani"), number)
        tell(app, number, "paid", "one")
        [(anomaly,)] = conn.execute("SELECT id FROM payment_anomalies").fetchall()
        with pytest.raises(RefundNotPossible):
            ask_for(app, number)
        refund = ask_for(app, number, anomaly_id=anomaly)
        send(app, refund.key)
        assert [kind for kind, *_ in anomalies(conn)] == ["order_closed"]
        reported(app, number, refund)
        assert (anomalies(conn), states(conn), order_status(conn, number)) == ([], [("booked", TOTAL)], "cancelled")
        with pytest.raises(RefundNotPossible):
            ask_for(app, number, anomaly_id=anomaly)

    def test_names_the_double_and_not_the_payment_that_pays(
        self, app: App, conn: Connection, number: OrderNumber
    ) -> None:
        tell(app, number, "paid", "two", minute=1)
        [(anomaly,)] = conn.execute("SELECT id FROM payment_anomalies").fetchall()
        assert ask_for(app, number, anomaly_id=anomaly).transaction_id == "two"
        assert ask_for(app, number).transaction_id == "one"
        with pytest.raises(RefundNotPossible):
            ask_for(app, number, transaction_id="three")
