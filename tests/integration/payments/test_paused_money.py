"""Work about money is paused for hours and weeks: afterwards each order is paid, expired and reconciled as without."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import psycopg
import pytest
from psycopg import Connection

from oncall.pause_requests import LONGEST_PAUSE_S
from skincare.deployment.queues import QueueName
from skincare.identifiers import OrderNumber, UserId
from skincare.jobs.catalog import BUDGETS, PERIODIC_JOBS, ExpireOrder, ProcessPayment, SendRefund
from skincare.jobs.models import PauseTarget
from skincare.jobs.ports import QueuePair
from skincare.jobs.publisher import Publisher
from skincare.jobs.relay import run_relay
from skincare.jobs.repository import dead_letter
from skincare.orders.service import cancel_order
from skincare.payments.findings.models import LOOK_BACK
from skincare.payments.models import Attempt
from skincare.payments.reconciliation.repository import ASK_BACK
from skincare.payments.refunds.models import RefundRequest
from tests.fakes.email import FakeEmailSender
from tests.fakes.gateway_client import FakeGatewayClient
from tests.fakes.queue import MemoryQueue
from tests.support import ledger
from tests.support.factories import make_order
from tests.support.histories import TOTAL, Shop
from tests.support.http import open_app
from tests.support.payments import anomalies, ask_for_refund, checked, order_status, payments
from tests.support.retention import let_years_pass
from tests.support.timers import OPEN, asking, gateway_says, start_attempt

ANI = UserId("ani")
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
HOLDS_PAYMENTS = [
    PauseTarget("all"),
    PauseTarget("queue", "payments"),
    PauseTarget("type", "process_payment"),
    PauseTarget("type", "expire_order"),
]


@dataclass
class Money:
    """A shop with one gateway, whose time a test lets pass."""

    shop: Shop
    gateway: FakeGatewayClient
    conn: Connection
    owner: Connection
    clock: list[float]

    def pause(self, target: PauseTarget) -> None:
        assert ledger.pause(self.conn, target.scope, target.name) == "paused"

    def resume(self, target: PauseTarget) -> None:
        assert ledger.resume(self.conn, target.scope, target.name)

    def let_pass(self, time: timedelta) -> None:
        self.clock[0] += time.total_seconds()
        let_years_pass(self.owner, time)

    def work(self, *, hours: int) -> None:
        """Let relay and workers do theirs for so long."""
        app = self.shop.app
        for _ in range(hours):
            self.let_pass(HOUR)
            run_relay(
                database=app.database,
                queues=app.queues,
                publisher=app.publisher,
                budgets=BUDGETS,
                time_left=lambda: timedelta(seconds=50),
                periodic_jobs=PERIODIC_JOBS,
            )
            self.shop.work()

    def unfinished(self) -> list[tuple[str, str]]:
        """Return the jobs that are not over, but for those of a later time."""
        return self.conn.execute(
            "SELECT job_type, state FROM jobs WHERE publish_at IS NOT NULL AND (run_at IS NULL OR run_at <= now())"
        ).fetchall()

    def stock(self) -> int:
        row = self.conn.execute("SELECT sum(stock)::integer FROM products").fetchone()
        assert row is not None
        return int(row[0])

    def subjects(self) -> list[str]:
        assert isinstance(self.shop.app.email, FakeEmailSender)
        return [mail.subject for mail in self.shop.app.email.sent]


@pytest.fixture
def money(database_url: str, owner_url: str, conn: Connection) -> Iterator[Money]:
    clock = [1_800_000_000.0]

    def queue() -> MemoryQueue:
        return MemoryQueue(visibility=timedelta(seconds=270), now=lambda: clock[0])

    with (
        open_app(database_url, max_connections=4) as app,
        psycopg.connect(owner_url, autocommit=True) as owner,
    ):
        queues = {name: QueuePair(queue(), queue()) for name in QueueName}
        shop, client = asking(replace(app, publisher=Publisher(app.database, queues), queues=queues))
        yield Money(Shop(shop), client, conn, owner, clock)


def placed(money: Money) -> OrderNumber:
    """An order of the only product, whose first mail is sent."""
    number = make_order(money.conn, user_id=ANI).order.order_number
    money.work(hours=0)
    return number


def paid(money: Money, number: OrderNumber) -> None:
    money.shop.tell(number, "1", "paid", "a", 1, amount_rupiah=TOTAL)


class TestAnOrderWhoseTimeIsOverDuringAPause:
    @pytest.mark.parametrize("target", HOLDS_PAYMENTS, ids=str)
    def test_and_that_was_paid_meanwhile_is_paid_and_never_expires(self, money: Money, target: PauseTarget) -> None:
        number = placed(money)
        stock = money.stock()
        money.pause(target)
        paid(money, number)
        money.work(hours=30)
        assert order_status(money.conn, number) == ("paid" if target.name == "expire_order" else "pending")
        money.resume(target)
        money.work(hours=8)
        assert order_status(money.conn, number) == "paid"
        assert (money.stock(), money.unfinished()) == (stock, [])
        assert payments(money.conn) == [(f"{number}-a", "paid", TOTAL, 0, True)]
        assert anomalies(money.conn) == []
        assert not any("kedaluwarsa" in subject.lower() for subject in money.subjects())

    @pytest.mark.parametrize("target", [t for t in HOLDS_PAYMENTS if t.name != "process_payment"], ids=str)
    @pytest.mark.parametrize("told", ["by a webhook", "by nobody"])
    def test_and_that_was_paid_after_its_time_is_paid_as_well(
        self, money: Money, target: PauseTarget, told: str
    ) -> None:
        """It was open all the while, and its gateway is asked first."""
        number = placed(money)
        reference = start_attempt(money.conn, number)
        money.pause(target)
        money.work(hours=30)
        gateway_says(money.gateway, reference)
        if told == "by a webhook":
            paid(money, number)
        money.resume(target)
        money.work(hours=8)
        assert order_status(money.conn, number) == "paid"
        assert money.unfinished() == []

    @pytest.mark.parametrize("target", [t for t in HOLDS_PAYMENTS if t.name != "process_payment"], ids=str)
    def test_and_that_nobody_paid_keeps_its_goods_and_expires_once_afterwards(
        self, money: Money, target: PauseTarget
    ) -> None:
        number = placed(money)
        held = money.stock()
        money.pause(target)
        money.work(hours=100)
        assert (order_status(money.conn, number), money.stock()) == ("pending", held)
        money.resume(target)
        money.work(hours=8)
        assert order_status(money.conn, number) == "expired"
        assert money.unfinished() == []
        assert money.stock() - held == held_units(money, number)
        assert sum("kedaluwarsa" in subject.lower() for subject in money.subjects()) == 1, money.subjects()

    def test_and_that_was_cancelled_meanwhile_stays_cancelled(self, money: Money) -> None:
        number = placed(money)
        money.pause(PauseTarget("all"))
        money.work(hours=30)
        cancel_order(ANI, number, database=money.shop.app.database, publisher=money.shop.app.publisher)
        stock = money.stock()
        money.resume(PauseTarget("all"))
        money.work(hours=8)
        assert (order_status(money.conn, number), money.stock(), money.unfinished()) == ("cancelled", stock, [])


def held_units(money: Money, number: OrderNumber) -> int:
    row = money.conn.execute(
        "SELECT sum(quantity)::integer FROM order_items i JOIN orders o ON o.id = i.order_id WHERE order_number = %s",
        [number],
    ).fetchone()
    assert row is not None
    return int(row[0])


class TestAReconciliation:
    def test_repairs_and_finds_nothing_of_what_only_waits(self, money: Money) -> None:
        """An event, a refund, an expiry, a mail and an invoice that are paused have their jobs."""
        bought, waiting, unpaid = (placed(money) for _ in range(3))
        paid(money, bought)
        money.work(hours=0)
        money.shop.work()
        for payload in (ProcessPayment, SendRefund, ExpireOrder):
            money.pause(PauseTarget("type", payload.job_type))
        for queue in ("notifications", "documents"):
            money.pause(PauseTarget("queue", queue))
        paid(money, waiting)
        ask_for_refund(money.shop.app, RefundRequest(bought, "damaged", "me", key="r-1"))
        money.work(hours=20)
        before = money.conn.execute("SELECT count(*) FROM jobs WHERE publish_at IS NOT NULL").fetchone()
        reconciled = checked(money.shop.app)
        assert (reconciled.repaired, reconciled.findings) == ((), ())
        assert money.conn.execute("SELECT count(*) FROM jobs WHERE publish_at IS NOT NULL").fetchone() == before
        assert order_status(money.conn, unpaid) == order_status(money.conn, waiting) == "pending"

    def test_that_was_paused_for_as_long_as_one_can_be_still_finds_the_money_that_nobody_told(
        self, money: Money
    ) -> None:
        number = placed(money)
        reference = start_attempt(money.conn, number, expires_in=OPEN)
        money.gateway.start(Attempt(number, 1, TOTAL, datetime.now(UTC)))
        cancel_order(ANI, number, database=money.shop.app.database, publisher=money.shop.app.publisher)
        money.shop.work()
        assert money.gateway.closed == [reference]
        money.pause(PauseTarget("queue", "payments"))
        # A transfer that was under way when its page was closed.
        gateway_says(money.gateway, reference)
        money.let_pass(timedelta(seconds=LONGEST_PAUSE_S))
        money.resume(PauseTarget("queue", "payments"))
        money.work(hours=30)
        assert [row[:2] for row in anomalies(money.conn)] == [("order_closed", "refund")]
        assert money.unfinished() == []

    def test_looks_back_for_longer_than_a_pause_with_an_end_lasts(self) -> None:
        assert min(LOOK_BACK, ASK_BACK) > timedelta(seconds=LONGEST_PAUSE_S) + 2 * DAY


class TestADeadPayment:
    def test_that_is_redriven_during_a_pause_is_applied_once_after_it(self, money: Money) -> None:
        number = placed(money)
        paid(money, number)
        query = "SELECT id FROM jobs WHERE job_type = 'process_payment'"
        (job_id,) = [row[0] for row in money.conn.execute(query)]
        money.conn.execute(
            "UPDATE jobs SET state = 'dead_letter', dead_letter_no = 1, publish_at = now() WHERE id = %s", [job_id]
        )
        money.pause(PauseTarget("queue", "payments"))
        assert dead_letter.redrive(money.conn, [job_id])
        money.work(hours=30)
        assert order_status(money.conn, number) == "pending"
        money.resume(PauseTarget("queue", "payments"))
        money.work(hours=8)
        assert order_status(money.conn, number) == "paid"
        assert ledger.attempts(money.conn, job_id) == ["completed"]
