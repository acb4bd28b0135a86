"""An erasure before and after each job of an order breaks none of them, of whatever type.

The registry is walked, so a new job type is tried as well: `VALUES` says where its fields have their values from.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import pytest
from psycopg import Connection

from skincare.identifiers import OrderNumber, UserId
from skincare.jobs.catalog import EraseCustomer, ExportCustomer, JobPayload, ReconcilePayments
from skincare.jobs.models import Verdict
from skincare.jobs.repository import lease
from skincare.jobs.retry import Completed
from skincare.orders.service import cancel_order
from skincare.payments.models import Attempt
from skincare.payments.refunds.models import RefundRequest
from tests.fakes.gateway_client import FakeGatewayClient, report_of
from tests.integration.customers.test_lives import documents, look, mails, nobody_is_written_to_in_vain, unfinished
from tests.support import ledger
from tests.support.customers import ask_export, columns_with
from tests.support.factories import make_order, make_user_id
from tests.support.histories import TOTAL, Shop, books, open_shop
from tests.support.payments import ask_for_refund
from tests.support.timers import ENDED, OPEN, asking, start_attempt
from worker.registry import REGISTRY


@dataclass
class Life:
    """One customer with one order, whose jobs are run one at a time by the ledger."""

    shop: Shop
    conn: Connection
    gateway: FakeGatewayClient
    user_id: UserId = field(default_factory=make_user_id)
    number: OrderNumber = field(init=False)
    ran: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.number = make_order(
            self.conn, user_id=self.user_id, email=f"{self.user_id}@example.com", recipient_name=f"Name {self.user_id}"
        ).order.order_number

    def run_next(self) -> bool:
        """Run the oldest job that is due, as a worker would; tell whether there was one."""
        row = self.conn.execute(
            "SELECT id FROM jobs WHERE publish_at IS NOT NULL AND (run_at IS NULL OR run_at <= now())"
            " AND job_type <> 'erase_customer' ORDER BY id LIMIT 1"
        ).fetchone()
        if row is None:
            return False
        token = ledger.new_token()
        claim = ledger.claim_one(self.conn, row[0], token=token)
        assert claim.verdict is Verdict.RUN, claim
        registration = REGISTRY.find(claim.job_type)
        assert registration is not None
        registration.run(claim.payload, self.shop.app)
        assert lease.settle(self.conn, {row[0]: Completed()}, token=token)
        self.ran.append(claim.job_type)
        return True

    # --- what happens from outside

    def start_payment(self) -> None:
        start_attempt(self.conn, self.number, expires_in=OPEN)
        self.gateway.start(Attempt(self.number, 1, TOTAL, datetime.now(UTC)))

    def payment_ends(self) -> None:
        self.conn.execute("UPDATE payment_attempts SET expires_at = now() + %s", [ENDED])

    def pay(self) -> None:
        transaction = f"{self.number}-a"
        self.gateway.tell(f"{self.number}.1", report_of(f"{self.number}.1", transaction))
        self.shop.tell(self.number, "paid", "paid", "a", 1, amount_rupiah=TOTAL)

    def cancel(self) -> None:
        cancel_order(self.user_id, self.number, database=self.shop.app.database, publisher=self.shop.app.publisher)

    def time_is_over(self) -> None:
        self.conn.execute(
            "UPDATE jobs SET run_at = now(), publish_at = now()"
            " WHERE job_type = 'expire_order' AND publish_at IS NOT NULL"
        )

    def ask_for_refund(self) -> None:
        ask_for_refund(self.shop.app, RefundRequest(self.number, "damaged", "me", key=f"{self.number}-r"))

    def refund(self) -> None:
        self.shop.tell(self.number, "back", "refunded", "a", 2, amount_rupiah=TOTAL, refund_id=f"{self.number}-r")

    def reconcile(self) -> None:
        ledger.enqueue(self.conn, ReconcilePayments())

    def export(self) -> None:
        # A customer who is erased has nothing to export.
        if self.conn.execute("SELECT 1 FROM orders WHERE user_id = %s", [self.user_id]).fetchone():
            ask_export(self.shop.app, self.user_id)

    def every_type(self) -> None:
        """Enqueue a job of each type about the order, as if something had set it off once more."""
        for registration in REGISTRY:
            if registration.payload_class not in {ExportCustomer, EraseCustomer}:
                for payload in payloads_of(self.conn, registration.payload_class, self.number):
                    ledger.enqueue(self.conn, payload, order_number=self.number)


JOB = "a job"
ONE_OF_EACH = (JOB,) * len(list(REGISTRY))
LIVES: Mapping[str, tuple[Callable[[Life], None] | str, ...]] = {
    "bought, sent back and refunded": (
        JOB, Life.start_payment, Life.pay, JOB, JOB, JOB, Life.export, JOB,
        Life.ask_for_refund, JOB, Life.refund, JOB, JOB, JOB, Life.every_type, *ONE_OF_EACH, Life.reconcile, JOB,
    ),
    "cancelled": (Life.start_payment, JOB, Life.cancel, JOB, Life.payment_ends, JOB, Life.reconcile, JOB),
    "never paid": (JOB, Life.time_is_over, JOB, JOB, Life.export, JOB, Life.reconcile, JOB),
}  # fmt: skip
"""What happens to an order, and each time that a job runs; where there is none that is no matter."""


@pytest.fixture
def shop(database_url: str) -> Iterator[Shop]:
    with open_shop(database_url) as shop:
        yield shop


def lived(shop: Shop, conn: Connection, life: str, *, looks_at: int | None) -> tuple[Life, bool]:
    """Live a life in which an erasure looks before the step of an index; return whether it erased."""
    app, gateway = asking(shop.app)
    one = Life(replace(shop, app=app), conn, gateway)
    erased = False
    for index, step in enumerate(LIVES[life]):
        if index == looks_at:
            waiting = unfinished(conn, one.number)
            erased = look(one.shop, conn, one.user_id)
            assert not (erased and waiting), "a job of the order was still to run"
        if callable(step):
            step(one)
        else:
            one.run_next()
    while one.run_next():
        pass
    return one, erased


def left(conn: Connection) -> list[tuple[str, str]]:
    """Return the jobs that are not over, but for timers of later and the looks of an erasure."""
    return conn.execute(
        "SELECT job_type, state FROM jobs WHERE publish_at IS NOT NULL AND job_type <> 'erase_customer'"
    ).fetchall()


class TestBetweenAnyTwoJobs:
    @pytest.mark.parametrize("life", LIVES)
    def test_an_erasure_breaks_none_and_the_books_are_as_without(self, shop: Shop, conn: Connection, life: str) -> None:
        twin, _ = lived(shop, conn, life, looks_at=None)
        for point in range(len(LIVES[life])):
            one, erased = lived(shop, conn, life, looks_at=point)
            assert left(conn) == [], point
            assert books(conn, one.number) == books(conn, twin.number), point
            assert documents(conn, one.number) == documents(conn, twin.number), point
            assert erased or mails(shop, one.user_id) == mails(shop, twin.user_id), point
            assert {*one.ran} - {"export_customer"} == {*twin.ran} - {"export_customer"}, point
            assert look(one.shop, conn, one.user_id), conn.execute("SELECT waits_for FROM customer_requests").fetchall()
            assert nobody_is_written_to_in_vain(shop)
            assert columns_with(conn, one.user_id) == set()

    def test_is_each_type_of_the_registry_that_is_about_orders(self, shop: Shop, conn: Connection) -> None:
        ran = {job_type for life in LIVES for job_type in lived(shop, conn, life, looks_at=None)[0].ran}
        about_orders = {
            each.payload_class.job_type for each in REGISTRY if set(each.payload_class.model_fields) <= set(VALUES)
        }
        assert ran | {"erase_customer"} == about_orders


class TestOnAnErasedOrder:
    @pytest.mark.parametrize("registration", list(REGISTRY), ids=lambda each: each.payload_class.job_type)
    def test_each_job_type_runs_again_and_changes_nothing(
        self, shop: Shop, conn: Connection, registration: Any
    ) -> None:
        """As where its message comes twice, or a person brings it back."""
        one, _ = lived(shop, conn, "bought, sent back and refunded", looks_at=None)
        assert look(one.shop, conn, one.user_id)
        before = everything_of(conn), documents(conn, one.number), len(mails(shop, one.user_id))
        for payload in payloads_of(conn, registration.payload_class, one.number):
            registration.run(payload.model_dump(mode="json"), one.shop.app)
        assert (everything_of(conn), documents(conn, one.number), len(mails(shop, one.user_id))) == before
        assert nobody_is_written_to_in_vain(shop)
        assert columns_with(conn, one.user_id) == set()


TABLES = (
    "orders", "payments", "payment_anomalies", "refunds", "order_refunds", "order_notifications", "carts",
    "customer_requests",
)  # fmt: skip


def everything_of(conn: Connection) -> list[Any]:
    """Return what is known of orders, their money, their mails and their customers."""
    return [
        conn.execute(f"SELECT to_jsonb(t) FROM {table} t ORDER BY to_jsonb(t)::text".encode()).fetchall()
        for table in TABLES
    ]


OF_THE_ORDER = "JOIN orders o ON o.id = t.order_id WHERE o.order_number = %(n)s"
VALUES: Mapping[str, str] = {
    "order_number": "SELECT %(n)s::text",
    "event_id": "SELECT id::text FROM payment_events WHERE order_number = %(n)s",
    "refund_no": f"SELECT t.refund_no FROM order_refunds t {OF_THE_ORDER}",
    "credit_note": f"SELECT t.number FROM credit_notes t {OF_THE_ORDER}",
    "refund_key": f"SELECT t.key FROM refunds t {OF_THE_ORDER}",
    "customer_request": "SELECT id FROM customer_requests",
    "look": "SELECT look FROM customer_requests",
}
"""Where a field of this name, in whatever payload, has its values from."""


def payloads_of(conn: Connection, payload: type[JobPayload], number: OrderNumber) -> list[JobPayload]:
    """Return what jobs of this type carry about an order, with each value that a field can have; none about others."""
    unknown = set(payload.model_fields) - set(VALUES)
    if unknown:
        assert "order_number" not in payload.model_fields, f"say in VALUES where {payload.job_type} has {unknown} from"
        return []
    found: list[dict[str, Any]] = [{}]
    for name in payload.model_fields:
        rows = conn.execute(VALUES[name].encode(), {"n": number}).fetchall()
        found = [{**each, name: value} for each in found for (value,) in rows]
    return [payload(**each) for each in found]
