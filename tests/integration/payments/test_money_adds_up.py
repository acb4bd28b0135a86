"""Whatever happens to an order and in whatever order: the stock is exact and no rupiah is lost.

Money that came = money kept + money to give back + money given back.
"""

import itertools
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from psycopg import Connection

from skincare.app import App
from skincare.identifiers import OrderNumber, UserId
from skincare.orders import repository as orders
from skincare.payments.errors import OrderMaybePaid, PaymentUnderWay
from skincare.payments.models import EventStatus
from skincare.payments.reconciliation.service import ask_gateways
from tests.fakes.gateway_client import report_of
from tests.support.factories import make_order, make_product, make_user_id
from tests.support.payments import anomalies, new_order, order_status, run_jobs, tell
from tests.support.randomness import examples
from tests.support.shop import stock
from tests.support.timers import asking, expire, start_attempt

TOTAL = 150_000
STOCK = 100
GIVEN_UP = {"cancelled", "expired", "refunded"}
"""Orders whose goods are for sale again."""

EXAMPLES = settings(
    max_examples=examples(20),
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)

EVENTS = st.one_of(
    st.tuples(st.just("paid"), st.sampled_from("ab"), st.integers(1, 3), st.sampled_from([TOTAL, TOTAL, TOTAL - 1])),
    st.tuples(st.just("refunded"), st.sampled_from("ab"), st.integers(4, 6), st.sampled_from([TOTAL, 50_000])),
    st.tuples(st.sampled_from(["failed", "expired", "pending"]), st.sampled_from("abc"), st.just(7), st.just(TOTAL)),
)
STEPS = st.lists(st.one_of(EVENTS, st.sampled_from(["expire", "expire", "cancel"])), min_size=1, max_size=9)


def happen(app: App, conn: Connection, number: OrderNumber, user: UserId, step: Any) -> None:
    match step:
        case "expire":
            expire(app, number)
        case "cancel":
            orders.cancel(conn, user, number)
        case (status, transaction, minute, amount):
            tell(app, number, status, f"{number}-{transaction}", minute=minute, amount_rupiah=amount)


def money(conn: Connection, number: OrderNumber) -> tuple[int, int, int, int]:
    """What came, is kept, is to be given back, and was given back."""
    row = conn.execute(
        "SELECT coalesce(sum(p.amount_rupiah), 0)::bigint,"
        " coalesce(sum(p.amount_rupiah - p.refunded_rupiah - p.charged_back_rupiah)"
        "   FILTER (WHERE p.pays_order), 0)::bigint,"
        " (SELECT coalesce(sum(a.give_back_rupiah), 0)::bigint FROM payment_anomalies a"
        "   WHERE a.order_id = o.id AND a.withdrawn_at IS NULL),"
        " coalesce(sum(p.refunded_rupiah + p.charged_back_rupiah), 0)::bigint"
        " FROM orders o LEFT JOIN payments p ON p.order_id = o.id WHERE o.order_number = %s GROUP BY o.id",
        [number],
    ).fetchone()
    assert row is not None
    return row


class TestAnOrderWithAnyHistory:
    @EXAMPLES
    @given(steps=STEPS)
    def test_keeps_stock_and_money_exact(self, app: App, conn: Connection, steps: list[Any]) -> None:
        user, sku = make_user_id(), make_product(conn, price_rupiah=TOTAL, stock=STOCK).sku
        number = make_order(conn, user_id=user, lines={sku: 1}).order.order_number
        for step in steps:
            happen(app, conn, number, user, step)
            came, kept, to_give_back, given_back = money(conn, number)
            assert came == kept + to_give_back + given_back
            held = order_status(conn, number) not in GIVEN_UP
            assert stock(conn, sku) == (STOCK - 1 if held else STOCK)

    @EXAMPLES
    @given(data=st.data())
    def test_ends_the_same_wherever_its_timer_goes_off_while_the_gateway_knows_the_truth(
        self, app: App, conn: Connection, data: st.DataObject
    ) -> None:
        """The gateway has had all the money, and its webhooks come in any order, twice, or never.

        What a webhook never told, the timer or the reconciliation learns from the gateway.
        """
        app, client = asking(app)
        number = new_order(conn)
        reference = start_attempt(conn, number)
        one, two = f"{number}-a", f"{number}-b"
        refund = {"refund_key": f"{number}-r"}
        client.tell(
            reference,
            report_of(reference, one),
            report_of(reference, two, occurred_at=report_of(reference).occurred_at.replace(hour=4)),  # type: ignore[union-attr]
            report_of(reference, two, EventStatus.REFUNDED, TOTAL, **refund),  # type: ignore[arg-type]
        )
        reported: list[Callable[[], None]] = [
            lambda: tell(app, number, "paid", one),
            lambda: tell(app, number, "paid", two, minute=60),
            lambda: tell(app, number, "refunded", two, minute=61, refund_id=refund["refund_key"]),
            lambda: tell(app, number, "expired", f"{number}-c", minute=62),
        ]
        history = data.draw(st.permutations([*range(4), *data.draw(st.lists(st.integers(0, 3), max_size=3))]))
        history = history[: data.draw(st.integers(0, len(history)))]
        at = data.draw(st.integers(0, len(history)))
        for chosen in [*history[:at], None, *history[at:]]:
            if chosen is not None:
                reported[chosen]()
                continue
            try:
                expire(app, number)
            except (OrderMaybePaid, PaymentUnderWay):
                run_jobs(app)
        ask_gateways(database=app.database, gateways=app.gateways, publisher=app.publisher)
        run_jobs(app)
        assert (order_status(conn, number), money(conn, number)) == ("paid", (2 * TOTAL, TOTAL, 0, TOTAL))


class TestARefundedOrder:
    @pytest.mark.parametrize("history", list(itertools.permutations(range(3))))
    def test_is_paid_again_by_an_earlier_payment_that_came_to_light_late(
        self, app: App, conn: Connection, history: tuple[int, ...]
    ) -> None:
        """Whatever the order of the news: the earlier payment pays, the later one was a double and is back.

        Only where the order counted as refunded meanwhile does a person look at it.
        """
        number = new_order(conn)
        reported = [("paid", "earlier", 1), ("paid", "later", 2), ("refunded", "later", 3)]
        for index in history:
            status, transaction, minute = reported[index]
            tell(app, number, status, transaction, minute=minute)
        assert (order_status(conn, number), money(conn, number)) == ("paid", (2 * TOTAL, TOTAL, 0, TOTAL))
        rung = [("paid_again", "review", TOTAL, TOTAL, 0)]
        assert anomalies(conn) == (rung if history[-1] == 0 else [])
