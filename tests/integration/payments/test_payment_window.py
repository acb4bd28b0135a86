"""Until when an order may be paid: its answer, the gateway's page and its timer agree, and nobody stretches it."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import psycopg
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from psycopg import Connection, errors

from skincare.app import App
from skincare.identifiers import OrderNumber, UserId, new_job_id
from skincare.jobs.catalog import ExpireOrder
from skincare.jobs.repository import timers
from skincare.orders import repository as orders
from skincare.orders.terms import EXPIRY_GRACE
from skincare.payments.errors import GatewayUnavailable, PaymentUnderWay, ReferenceTaken
from tests.fakes.gateway_client import FakeGatewayClient, report_of
from tests.support.factories import make_order, make_product
from tests.support.http import Answer, Client
from tests.support.payments import gateway_of, order_status, tell
from tests.support.randomness import examples
from tests.support.shop import stock
from tests.support.timers import expire, timer_state

ANI = "ani"
WINDOW, BANK, COUNTER, DAY = (timedelta(minutes=minutes) for minutes in (60, 24 * 60, 180, 24 * 60))


@pytest.fixture
def app(app: App) -> App:
    longer = replace(app.settings, bank_transfer_window_minutes=24 * 60, counter_window_minutes=180)
    return replace(app, settings=longer)


@pytest.fixture
def gateway(app: App) -> FakeGatewayClient:
    return gateway_of(app, "standard_webhooks")


@pytest.fixture
def number(conn: Connection) -> OrderNumber:
    return make_order(conn, user_id=ANI, lines={make_product(conn, sku="SERUM").sku: 1}).order.order_number


@pytest.fixture
def owner(owner_url: str) -> Iterator[Connection]:
    with psycopg.connect(owner_url, autocommit=True) as owner:
        yield owner


def start(app: App, number: str, way: str | None = None) -> Answer:
    query = "" if way is None else f"way_to_pay={way}"
    return Client(app, ANI).request("POST", f"/v1/orders/{number}/payment", query=query)


def reported(app: App, number: str) -> datetime | None:
    """Until when the order says that it may be paid."""
    answer = Client(app, ANI).get(f"/v1/orders/{number}")
    text = answer.body["expires_at"]
    return None if text is None else datetime.fromisoformat(text)


def placed(conn: Connection, number: str) -> datetime:
    row = conn.execute("SELECT created_at FROM orders WHERE order_number = %s", [number]).fetchone()
    assert row is not None
    at: datetime = row[0]
    return at.astimezone(UTC)


def goes_off(conn: Connection, number: str) -> datetime:
    """When the order's timer goes off; its three times are one."""
    row = conn.execute(
        "SELECT run_at, publish_at, budget_from FROM jobs WHERE order_number = %s AND job_type = 'expire_order'",
        [number],
    ).fetchone()
    assert row is not None
    assert len(set(row)) == 1
    at: datetime = row[0]
    return at.astimezone(UTC)


def let_pass(conn: Connection, time: timedelta) -> None:
    """Move everything into the past."""
    conn.execute("UPDATE orders SET created_at = created_at - %(t)s, expires_at = expires_at - %(t)s", {"t": time})
    conn.execute(
        "UPDATE payment_attempts SET expires_at = expires_at - %(t)s, created_at = created_at - %(t)s", {"t": time}
    )
    conn.execute(
        "UPDATE jobs SET run_at = run_at - %(t)s, publish_at = publish_at - %(t)s, budget_from = budget_from - %(t)s"
        " WHERE run_at IS NOT NULL",
        {"t": time},
    )


class TestTheEndOfAnOrder:
    def test_is_an_hour_after_its_checkout_and_told_everywhere(self, app: App, conn: Connection) -> None:
        ani = Client(app, ANI)
        ani.put_item(make_product(conn).sku)
        first = ani.order("k-1").body
        number = first["order_number"]
        end = placed(conn, number) + WINDOW
        assert datetime.fromisoformat(first["expires_at"]) == end == reported(app, number)
        assert ani.get("/v1/orders").body["data"][0]["expires_at"] == first["expires_at"]
        assert ani.order("k-1").body == first
        assert goes_off(conn, number) == end + timedelta(minutes=15)
        assert datetime.fromisoformat(start(app, number).body["expires_at"]) == end

    def test_is_what_the_shop_sets(self, app: App, conn: Connection) -> None:
        app = replace(app, settings=replace(app.settings, payment_window_minutes=15))
        ani = Client(app, ANI)
        ani.put_item(make_product(conn).sku)
        number = ani.order().body["order_number"]
        assert reported(app, number) == placed(conn, number) + timedelta(minutes=15)
        assert goes_off(conn, number) == placed(conn, number) + timedelta(minutes=30)

    @pytest.mark.parametrize("status", ["paid", "cancelled", "expired", "refunded", "partially_refunded"])
    def test_is_told_while_it_waits_for_money_only(
        self, app: App, conn: Connection, number: OrderNumber, status: str
    ) -> None:
        conn.execute("UPDATE orders SET status = %s", [status])
        assert reported(app, number) is None

    def test_is_that_of_the_gateways_page(
        self, app: App, conn: Connection, number: OrderNumber, gateway: FakeGatewayClient
    ) -> None:
        let_pass(conn, timedelta(minutes=20))
        start(app, number)
        assert [attempt.expires_at for attempt in gateway.started] == [placed(conn, number) + WINDOW]

    @pytest.mark.parametrize(
        ("age", "status"),
        [
            (timedelta(minutes=57, seconds=59), 200),
            (timedelta(minutes=58, seconds=1), 409),
            (timedelta(minutes=59, seconds=59), 409),
            (timedelta(minutes=60), 409),
        ],
    )
    def test_is_too_near_for_a_page_in_its_last_two_minutes(
        self, app: App, conn: Connection, number: OrderNumber, age: timedelta, status: int
    ) -> None:
        let_pass(conn, age - timedelta(milliseconds=1))
        answer = start(app, number)
        assert answer.status == status, answer.text
        if status == 409:
            assert (answer.code, answer.body["order_status"]) == ("order_not_payable", "pending")
            assert conn.execute("SELECT count(*) FROM payment_attempts").fetchone() == (0,)

    def test_does_not_take_an_open_page_away(self, app: App, conn: Connection, number: OrderNumber) -> None:
        url = start(app, number).body["redirect_url"]
        let_pass(conn, timedelta(minutes=59, seconds=50))
        assert start(app, number).body["redirect_url"] == url
        let_pass(conn, timedelta(seconds=11))
        assert start(app, number).code == "order_not_payable"

    def test_is_too_near_to_ask_a_gateway_again_that_did_not_answer(
        self, app: App, conn: Connection, number: OrderNumber, gateway: FakeGatewayClient
    ) -> None:
        gateway.fail_next(GatewayUnavailable("standard_webhooks", "timeout"))
        assert start(app, number).status == 503
        let_pass(conn, timedelta(minutes=59))
        assert start(app, number).code == "order_not_payable"
        assert len(gateway.started) == 0


class TestAWayToPay:
    @pytest.mark.parametrize(("way", "window"), [("bank_transfer", BANK), ("counter", COUNTER), (None, WINDOW)])
    def test_has_its_own_time(
        self,
        app: App,
        conn: Connection,
        number: OrderNumber,
        gateway: FakeGatewayClient,
        way: str | None,
        window: timedelta,
    ) -> None:
        let_pass(conn, timedelta(minutes=30))
        answer = start(app, number, way)
        end = placed(conn, number) + window
        assert datetime.fromisoformat(answer.body["expires_at"]) == end == reported(app, number)
        assert [attempt.expires_at for attempt in gateway.started] == [end]
        assert goes_off(conn, number) == end + EXPIRY_GRACE
        assert timer_state(conn, number) == "pending"

    @pytest.mark.parametrize("way", ["card", "", "BANK_TRANSFER", "bank_transfer%20"])
    def test_that_is_unknown_is_named(self, app: App, conn: Connection, number: OrderNumber, way: str) -> None:
        answer = start(app, number, way)
        assert (answer.status, answer.code) == (422, "validation_failed")
        assert "way_to_pay" in answer.pointers[0]
        assert conn.execute("SELECT count(*) FROM payment_attempts").fetchone() == (0,)

    def test_may_come_in_the_last_moment(self, app: App, conn: Connection, number: OrderNumber) -> None:
        let_pass(conn, timedelta(minutes=59, seconds=30))
        assert start(app, number, "counter").status == 200
        assert reported(app, number) == placed(conn, number) + COUNTER

    def test_comes_too_late_after_the_end(self, app: App, conn: Connection, number: OrderNumber) -> None:
        let_pass(conn, timedelta(minutes=60))
        assert start(app, number, "bank_transfer").code == "order_not_payable"
        assert goes_off(conn, number) == placed(conn, number) + WINDOW + EXPIRY_GRACE

    def test_changes_nothing_while_a_page_is_open(self, app: App, conn: Connection, number: OrderNumber) -> None:
        first = start(app, number)
        assert start(app, number, "bank_transfer").body == first.body
        assert reported(app, number) == placed(conn, number) + WINDOW

    def test_never_takes_time_away(self, app: App, conn: Connection, number: OrderNumber) -> None:
        start(app, number, "bank_transfer")
        tell(app, OrderNumber(f"{number}.1"), "expired")
        start(app, number, "counter")
        assert reported(app, number) == placed(conn, number) + BANK

    def test_leaves_the_order_as_it_is_where_no_page_can_be_opened(
        self, app: App, conn: Connection, number: OrderNumber
    ) -> None:
        """Extension, timer and attempt are one transaction."""
        assert start(replace(app, gateways={}), number, "bank_transfer").status == 503
        short = replace(app, settings=replace(app.settings, counter_window_minutes=61))
        let_pass(conn, timedelta(minutes=59, seconds=55))
        assert start(short, number, "counter").code == "order_not_payable"
        end = placed(conn, number) + WINDOW
        assert (reported(app, number), goes_off(conn, number)) == (end, end + EXPIRY_GRACE)

    def test_of_an_order_that_was_closed_extends_nothing(self, app: App, conn: Connection, number: OrderNumber) -> None:
        orders.cancel(conn, UserId(ANI), number)
        assert start(app, number, "bank_transfer").body["order_status"] == "cancelled"
        assert timer_state(conn, number) == "cancelled"

    def test_of_somebody_else_is_unknown(self, app: App, conn: Connection, number: OrderNumber) -> None:
        answer = Client(app, "budi").request("POST", f"/v1/orders/{number}/payment", query="way_to_pay=bank_transfer")
        assert answer.code == "order_unknown"
        assert reported(app, number) == placed(conn, number) + WINDOW

    def test_keeps_the_order_also_where_somebody_let_its_timer_go_off(
        self, app: App, conn: Connection, number: OrderNumber
    ) -> None:
        """An operator may run it early; then it cannot be moved, and the open page keeps the order."""
        conn.execute("UPDATE jobs SET state = 'queued', publish_at = now() WHERE job_type = 'expire_order'")
        assert start(app, number, "bank_transfer").status == 200
        with pytest.raises(PaymentUnderWay):
            expire(app, number)
        assert (order_status(conn, number), stock(conn, "SERUM")) == ("pending", 9)


class TestAReferenceThatIsTaken:
    """The attempt is left, and the next one has the time of the way that its customer has chosen now."""

    @pytest.mark.parametrize(("way", "window"), [(None, WINDOW), ("counter", COUNTER), ("bank_transfer", BANK)])
    @pytest.mark.parametrize("before", [None, "counter"])
    def test_gives_the_next_page_the_longest_time_that_was_asked_for(
        self,
        app: App,
        conn: Connection,
        number: OrderNumber,
        gateway: FakeGatewayClient,
        before: str | None,
        way: str | None,
        window: timedelta,
    ) -> None:
        gateway.fail_next(GatewayUnavailable("standard_webhooks", "timeout"))
        assert start(app, number, before).status == 503
        gateway.fail_next(ReferenceTaken("standard_webhooks"))
        answer = start(app, number, way)
        end = placed(conn, number) + max(window, WINDOW if before is None else COUNTER)
        assert answer.body["redirect_url"].endswith(f"{number}.2")
        assert datetime.fromisoformat(answer.body["expires_at"]) == end == reported(app, number)
        assert [(attempt.attempt_no, attempt.expires_at) for attempt in gateway.started] == [(2, end)]
        assert goes_off(conn, number) == end + EXPIRY_GRACE

    def test_opens_no_page_where_meanwhile_too_little_time_is_left(
        self, app: App, conn: Connection, number: OrderNumber, gateway: FakeGatewayClient
    ) -> None:
        gateway.ways_known_by_transaction_only = {f"{number}.1"}

        def time_passes() -> None:
            gateway.while_asked = lambda: None
            let_pass(conn, timedelta(minutes=59))

        gateway.while_asked = time_passes
        answer = start(app, number)
        assert (answer.status, answer.code) == (409, "order_not_payable")
        assert conn.execute("SELECT attempt_no FROM payment_attempts").fetchall() == [(1,)]
        assert start(app, number, "counter").body["redirect_url"].endswith(f"{number}.2")

    def test_that_is_in_use_keeps_the_time_of_the_order(
        self, app: App, conn: Connection, number: OrderNumber, gateway: FakeGatewayClient
    ) -> None:
        gateway.fail_next(GatewayUnavailable("standard_webhooks", "timeout"))
        assert start(app, number).status == 503
        gateway.tell(f"{number}.1", report_of(f"{number}.1"))
        gateway.fail_next(ReferenceTaken("standard_webhooks"))
        assert start(app, number, "bank_transfer").status == 503
        end = placed(conn, number) + WINDOW
        assert (reported(app, number), goes_off(conn, number)) == (end, end + EXPIRY_GRACE)


class TestAScript:
    @settings(
        max_examples=examples(20),
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=[HealthCheck.function_scoped_fixture],
    )
    @given(
        steps=st.lists(
            st.one_of(
                st.sampled_from([None, "bank_transfer", "counter"]).map(lambda way: ("start", way)),
                st.just(("close", None)),
                st.integers(1, 400).map(lambda minutes: ("wait", minutes)),
            ),
            min_size=1,
            max_size=12,
        )
    )
    def test_never_holds_an_order_beyond_a_day_whatever_it_asks_for(
        self, app: App, conn: Connection, steps: list[tuple[str, object]]
    ) -> None:
        """And the order, the open page and the timer agree at each step."""
        number = make_order(conn, user_id=ANI).order.order_number
        asked: set[object] = set()
        pages = 0
        for step, detail in steps:
            if step == "wait":
                assert isinstance(detail, int)
                let_pass(conn, timedelta(minutes=detail))
            elif step == "close":
                if pages:
                    tell(app, OrderNumber(f"{number}.{pages}"), "expired", f"t-{pages}")
            else:
                before = reported(app, number)
                answer = start(app, number, detail if isinstance(detail, str) else None)
                if answer.status == 200:
                    end = reported(app, number)
                    assert datetime.fromisoformat(answer.body["expires_at"]) == end
                    if not answer.body["redirect_url"].endswith(f".{pages}"):
                        pages += 1
                        asked.add(detail)
                else:
                    assert reported(app, number) == before
            windows = {None: WINDOW, "bank_transfer": BANK, "counter": COUNTER}
            longest = max((windows[str(way) if way else None] for way in asked), default=WINDOW)
            end = reported(app, number)
            assert end == placed(conn, number) + longest
            assert end <= placed(conn, number) + DAY
            assert goes_off(conn, number) == end + EXPIRY_GRACE

    def test_is_held_up_by_the_database_as_well(self, owner: Connection, number: OrderNumber) -> None:
        with pytest.raises(errors.CheckViolation, match="orders_paid_within_a_day"):
            owner.execute("UPDATE orders SET expires_at = created_at + interval '24 hours 1 second'")


class TestMovingATimer:
    def test_moves_one_that_has_not_gone_off(self, conn: Connection, number: OrderNumber) -> None:
        key = ExpireOrder(order_number=number).unique_key
        to = datetime.now(UTC) + timedelta(hours=5)
        assert timers.move(conn, key, run_at=to)
        assert goes_off(conn, number) == to
        assert timers.insert(conn, new_job_id(), ExpireOrder(order_number=number), unique_key=key) is None

    @pytest.mark.parametrize(
        "change",
        [
            "state = 'queued'",
            "state = 'processing', lease_token = gen_random_uuid(), leased_at = now(), lease_until = now()",
            "attempts = 1",
        ],
    )
    def test_leaves_one_alone_that_has(self, conn: Connection, number: OrderNumber, change: str) -> None:
        conn.execute(f"UPDATE jobs SET {change} WHERE job_type = 'expire_order'")
        before = goes_off(conn, number)
        key = ExpireOrder(order_number=number).unique_key
        assert not timers.move(conn, key, run_at=datetime.now(UTC))
        assert goes_off(conn, number) == before

    def test_finds_none_of_another_key(self, conn: Connection, number: OrderNumber) -> None:
        assert not timers.move(conn, "expire_order:SKN-00000-00000", run_at=datetime.now(UTC))
