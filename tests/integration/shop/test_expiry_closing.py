"""Before an order expires its payments are closed at their gateways, and nothing says any more that money came."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import timedelta

import psycopg
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from psycopg import Connection

from skincare.app import App
from skincare.errors import PermanentError, TransientError
from skincare.identifiers import OrderNumber
from skincare.payments.errors import (
    AttemptsUnasked,
    EventUnconfirmed,
    GatewayMisconfigured,
    OrderMaybePaid,
    PaymentUnderWay,
)
from skincare.payments.expiry import repository, service
from skincare.payments.models import EventStatus
from tests.fakes.gateway_client import FakeGatewayClient, report_of
from tests.support.factories import make_order, make_product
from tests.support.payments import events, order_status, payments, run_jobs, take_in
from tests.support.randomness import examples
from tests.support.shop import stock
from tests.support.timers import ENDED, OPEN, asking, expire, gateway_says, start_attempt

TOTAL = 150_000
STOCK = 10
MIDTRANS = "midtrans"


@pytest.fixture
def number(conn: Connection) -> OrderNumber:
    sku = make_product(conn, sku="SERUM", price_rupiah=TOTAL, stock=STOCK).sku
    return make_order(conn, user_id="ani", lines={sku: 1}).order.order_number


@pytest.fixture
def owner(owner_url: str) -> Iterator[Connection]:
    with psycopg.connect(owner_url, autocommit=True) as connection:
        yield connection


def asking_midtrans(app: App) -> tuple[App, FakeGatewayClient]:
    client = FakeGatewayClient(MIDTRANS)
    return replace(app, gateways={MIDTRANS: client}), client


class TestWhatWaitsForMoney:
    def test_is_closed_before_the_stock_comes_back(self, app: App, conn: Connection, number: OrderNumber) -> None:
        app, client = asking(app)
        reference = start_attempt(conn, number)
        gateway_says(client, reference, status=EventStatus.PENDING)
        expire(app, number)
        assert client.closed == [reference]
        assert (order_status(conn, number), stock(conn, "SERUM")) == ("expired", STOCK)

    def test_is_closed_again_after_a_crash_before_the_order_expired(
        self, app: App, conn: Connection, number: OrderNumber, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        app, client = asking(app)
        reference = start_attempt(conn, number)
        gateway_says(client, reference, status=EventStatus.PENDING)
        for step in ("mark_checked", "expire"):
            with monkeypatch.context() as crash:
                crash.setattr(repository, step, lambda *_, **__: 1 / 0)
                with pytest.raises(ZeroDivisionError):
                    expire(app, number)
            assert (order_status(conn, number), stock(conn, "SERUM")) == ("pending", STOCK - 1)
        expire(app, number)
        assert client.closed == [reference, reference]
        assert (order_status(conn, number), stock(conn, "SERUM")) == ("expired", STOCK)

    def test_that_is_paid_in_the_moment_of_closing_pays_the_order(
        self, app: App, conn: Connection, number: OrderNumber
    ) -> None:
        app, client = asking(app)
        reference = start_attempt(conn, number)
        gateway_says(client, reference, status=EventStatus.PENDING)
        calls = iter(["asked", "closed"])

        def pay_when_it_is_closed() -> None:
            if next(calls, None) == "closed":
                gateway_says(client, reference)

        client.while_asked = pay_when_it_is_closed
        with pytest.raises(OrderMaybePaid):
            expire(app, number)
        assert (order_status(conn, number), stock(conn, "SERUM")) == ("pending", STOCK - 1)
        run_jobs(app)
        assert (order_status(conn, number), client.closed) == ("paid", [])

    def test_is_not_closed_while_its_customer_may_still_pay(
        self, app: App, conn: Connection, number: OrderNumber
    ) -> None:
        app, client = asking(app)
        gateway_says(client, start_attempt(conn, number, expires_in=OPEN), status=EventStatus.PENDING)
        with pytest.raises(PaymentUnderWay):
            expire(app, number)
        assert client.closed == []

    def test_keeps_the_order_open_while_the_gateway_does_not_let_us_in(
        self, app: App, conn: Connection, number: OrderNumber
    ) -> None:
        """A key that is being replaced is no answer about money, and no reason to give the order up."""
        app, client = asking(app)
        start_attempt(conn, number)
        client.fail_next(GatewayMisconfigured("standard_webhooks", "status 401"))
        with pytest.raises(TransientError) as raised:
            expire(app, number)
        assert not isinstance(raised.value, PermanentError)
        assert order_status(conn, number) == "pending"
        expire(app, number)
        assert order_status(conn, number) == "expired"


class TestManyAttempts:
    def test_hide_no_money_from_each_other(self, app: App, conn: Connection, number: OrderNumber) -> None:
        """What waits unapplied at the first is no reason not to ask about the second."""
        app, client = asking_midtrans(app)
        references = [start_attempt(conn, number, attempt_no, gateway=MIDTRANS) for attempt_no in (1, 2)]
        gateway_says(client, references[0], transaction_id="one", amount_rupiah=TOTAL - 1)
        gateway_says(client, references[1], transaction_id="two")
        take_in(app, MIDTRANS, order_id=references[0], transaction_id="one")
        app.publisher.jobs.clear()  # type: ignore[attr-defined]
        with pytest.raises(OrderMaybePaid):
            expire(app, number)
        run_jobs(app)
        assert order_status(conn, number) == "paid"

    def test_are_asked_about_in_several_tries_and_each_once(
        self, app: App, conn: Connection, number: OrderNumber, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        app, client = asking(app)
        references = [start_attempt(conn, number, attempt_no) for attempt_no in range(1, 7)]
        tries = 0
        while order_status(conn, number) == "pending":
            tries += 1
            left = iter([10.0, 8.0, 5.0])
            monkeypatch.setattr(service, "seconds_left", lambda left=left: next(left))
            with contextlib.suppress(AttemptsUnasked):
                expire(app, number)
        assert tries == 3
        assert sorted(attempt.reference for attempt in client.asked) == references
        assert stock(conn, "SERUM") == STOCK

    def test_are_asked_about_anew_when_that_was_long_ago(
        self, app: App, conn: Connection, number: OrderNumber, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        app, client = asking(app)
        first = start_attempt(conn, number, 1)
        start_attempt(conn, number, 2)
        with monkeypatch.context() as slow:
            left = iter([10.0, 5.0])
            slow.setattr(service, "seconds_left", lambda: next(left))
            with pytest.raises(AttemptsUnasked) as unasked:
                expire(app, number)
            assert unasked.value.retry_after == timedelta(seconds=5)
        gateway_says(client, first)
        conn.execute("UPDATE payment_attempts SET checked_at = checked_at - interval '11 minutes'")
        with pytest.raises(OrderMaybePaid):
            expire(app, number)
        run_jobs(app)
        assert order_status(conn, number) == "paid"

    def test_take_no_longer_than_a_job_has_however_slow_the_gateway_is(self) -> None:
        assert service._WITHIN_S < 15 - 2


class TestAWayToPayThatIsKnownByItsTransactionAlone:
    """DANA and the banks of BI-SNAP at Midtrans: asked by our reference it knows nothing."""

    def test_is_confirmed_and_pays_the_order(self, app: App, conn: Connection, number: OrderNumber) -> None:
        app, client = asking_midtrans(app)
        reference = start_attempt(conn, number, gateway=MIDTRANS)
        gateway_says(client, reference)
        client.ways_known_by_transaction_only = {reference}
        take_in(app, MIDTRANS, order_id=reference)
        run_jobs(app)
        assert (order_status(conn, number), payments(conn)) == ("paid", [("transaction-1", "paid", TOTAL, 0, True)])

    def test_is_found_by_the_expiry_where_the_webhook_of_the_money_was_lost(
        self, app: App, conn: Connection, number: OrderNumber
    ) -> None:
        app, client = asking_midtrans(app)
        reference = start_attempt(conn, number, gateway=MIDTRANS)
        gateway_says(client, reference, status=EventStatus.PENDING)
        client.ways_known_by_transaction_only = {reference}
        take_in(app, MIDTRANS, order_id=reference, transaction_status="pending", status_code="201")
        run_jobs(app)
        gateway_says(client, reference)
        with pytest.raises(OrderMaybePaid):
            expire(app, number)
        run_jobs(app)
        assert order_status(conn, number) == "paid"

    def test_waits_for_the_money_where_nothing_stops_it(self, app: App, conn: Connection, number: OrderNumber) -> None:
        app, client = asking_midtrans(app)
        reference = start_attempt(conn, number, gateway=MIDTRANS)
        gateway_says(client, reference, status=EventStatus.PENDING)
        client.ways_known_by_transaction_only = client.cannot_close = {reference}
        take_in(app, MIDTRANS, order_id=reference, transaction_status="pending", status_code="201")
        with pytest.raises(PaymentUnderWay):
            expire(app, number)

    def test_that_belongs_to_nobody_keeps_the_order_open_until_a_person_has_looked(
        self, app: App, conn: Connection, number: OrderNumber
    ) -> None:
        app, _ = asking_midtrans(app)
        take_in(app, MIDTRANS, order_id=start_attempt(conn, number, gateway=MIDTRANS))
        for state in ("received", "quarantined"):
            if state == "quarantined":
                conn.execute("UPDATE payment_events SET state = 'quarantined', flaw = 'never confirmed'")
            with pytest.raises(OrderMaybePaid):
                expire(app, number)
        conn.execute("UPDATE payment_events SET reviewed_at = now()")
        expire(app, number)
        assert order_status(conn, number) == "expired"

    def test_is_named_by_at_most_five_events(self, app: App, conn: Connection, number: OrderNumber) -> None:
        """Whoever caught one notification can name any number of transactions: none of them costs more calls."""
        app, client = asking_midtrans(app)
        reference = start_attempt(conn, number, gateway=MIDTRANS)
        for forged in range(8):
            take_in(app, MIDTRANS, order_id=reference, transaction_id=f"forged-{forged}", transaction_status="pending")
        expire(app, number)
        assert client.named == [f"forged-{forged}" for forged in range(5)]


# What tells of money, and what names a transaction, is drawn most often.
SAID = [None, EventStatus.PENDING, EventStatus.FAILED, EventStatus.EXPIRED, EventStatus.PAID, EventStatus.PAID]
TOLD = [None, "unconfirmed", "set aside", "reviewed", "named", "named", "named"]


@dataclass(frozen=True)
class Past:
    """An attempt: what its gateway knows, and what its webhooks said."""

    is_open: bool
    said: EventStatus | None
    fits: bool
    can_close: bool
    is_hidden: bool
    reported: str | None

    @property
    def is_found(self) -> bool:
        return self.said is not None and (not self.is_hidden or self.reported == "named")

    @property
    def pays(self) -> bool:
        return self.is_found and self.said is EventStatus.PAID and self.fits

    @property
    def holds(self) -> bool:
        under_way = self.is_found and self.said is EventStatus.PENDING and not self.can_close
        return self.is_open or under_way or self.reported in {"unconfirmed", "set aside"}


PASTS = st.lists(
    st.builds(
        Past,
        is_open=st.sampled_from([False, False, True]),
        said=st.sampled_from(SAID),
        fits=st.sampled_from([True, True, False]),
        can_close=st.booleans(),
        is_hidden=st.booleans(),
        reported=st.sampled_from(TOLD),
    ),
    max_size=3,
)


class TestAnOrderWithAnyAttempts:
    @settings(
        max_examples=examples(25),
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=[HealthCheck.function_scoped_fixture],
    )
    @given(pasts=PASTS)
    def test_expires_exactly_where_nothing_speaks_for_money(
        self, app: App, conn: Connection, owner: Connection, pasts: list[Past]
    ) -> None:
        app, client = asking_midtrans(app)
        sku = make_product(conn, price_rupiah=TOTAL, stock=STOCK).sku
        number = make_order(conn, lines={sku: 1}).order.order_number
        for attempt_no, past in enumerate(pasts, start=1):
            reference = start_attempt(
                conn, number, attempt_no, expires_in=OPEN if past.is_open else ENDED, gateway=MIDTRANS
            )
            self.let_happen(app, client, owner, reference, past)
        for _ in range(4):
            self.go_on(app, number)
        status = order_status(conn, number)
        if any(past.pays for past in pasts):
            assert status == "paid"
        elif any(past.holds for past in pasts):
            assert status == "pending"
        else:
            assert status == "expired"
        assert stock(conn, sku) == (STOCK if status == "expired" else STOCK - 1)

    def let_happen(self, app: App, client: FakeGatewayClient, owner: Connection, reference: str, past: Past) -> None:
        transaction = f"trx-{reference}"
        if past.said is not None:
            amount = TOTAL if past.fits else TOTAL - 1
            client.tell(reference, report_of(reference, transaction, past.said, amount))
        if past.is_hidden:
            client.ways_known_by_transaction_only.add(reference)
        if not past.can_close:
            client.cannot_close.add(reference)
        match past.reported:
            case "named":
                take_in(app, MIDTRANS, order_id=reference, transaction_id=transaction, transaction_status="zzz")
            case "unconfirmed" | "set aside" | "reviewed":
                take_in(app, MIDTRANS, order_id=reference, transaction_id=f"other-{reference}")
                if past.reported != "unconfirmed":
                    owner.execute(
                        "UPDATE payment_events SET state = 'quarantined', flaw = 'x',"
                        " reviewed_at = CASE WHEN %s THEN now() END WHERE transaction_id = %s",
                        [past.reported == "reviewed", f"other-{reference}"],
                    )

    def go_on(self, app: App, number: OrderNumber) -> None:
        """Let the timer go off, and the events that came of it be applied."""
        with contextlib.suppress(OrderMaybePaid, PaymentUnderWay):
            expire(app, number)
        jobs = list(app.publisher.jobs)  # type: ignore[attr-defined]
        for job in jobs:
            app.publisher.jobs = [job]  # type: ignore[attr-defined]
            try:
                run_jobs(app)
            except EventUnconfirmed:
                continue
        app.publisher.jobs = jobs  # type: ignore[attr-defined]


class TestTheEvidence:
    def test_of_what_was_found_by_its_transaction_is_the_gateways_word(
        self, app: App, conn: Connection, number: OrderNumber
    ) -> None:
        app, client = asking_midtrans(app)
        reference = start_attempt(conn, number, gateway=MIDTRANS)
        gateway_says(client, reference, amount_rupiah=TOTAL - 1)
        client.ways_known_by_transaction_only = {reference}
        take_in(app, MIDTRANS, order_id=reference)
        run_jobs(app)
        assert events(conn) == [("applied", "paid")]
        assert conn.execute("SELECT confirmed_amount_rupiah FROM payment_events").fetchall() == [(TOTAL - 1,)]
        assert order_status(conn, number) == "pending"
