"""A refund's job ends as its refund does, in whatever order the gateway refuses, answers and tells."""

import itertools

import pytest
from psycopg import Connection

from skincare.app import App
from skincare.identifiers import OrderNumber
from skincare.jobs.catalog import SendRefund
from skincare.jobs.repository import dead_letter, lease
from skincare.jobs.retry import DeadLetter
from skincare.payments.errors import GatewayRefused, GatewayUnavailable
from skincare.payments.refunds.models import RefundRequest, RefundRow
from tests.fakes.gateway_client import FakeGatewayClient, report_of
from tests.support import ledger
from tests.support.jobs import run_due, states_of
from tests.support.payments import ask_for_refund, new_order, order_status, tell
from tests.support.timers import GATEWAY, asking

JOB = SendRefund.job_type
REFUSED = GatewayRefused(GATEWAY, "it was given back before")


@pytest.fixture
def number(app: App, conn: Connection) -> OrderNumber:
    number = new_order(conn)
    tell(app, number, "paid", "one")
    return number


@pytest.fixture
def refund(app: App, number: OrderNumber) -> RefundRow:
    return ask_for_refund(app, RefundRequest(number, "damaged in transit", "service desk", 50_000))


def book(app: App, refund: RefundRow) -> None:
    """Apply the gateway's event of the refund."""
    tell(
        app,
        refund.order_number,
        "partially_refunded",
        refund.transaction_id,
        key=f"event-of-{refund.key}",
        minute=9,
        amount_rupiah=refund.amount_rupiah,
        refund_id=refund.key,
    )


def asking_about(app: App) -> tuple[App, FakeGatewayClient]:
    app, client = asking(app)
    client.tell("x.1", report_of("x.1", "one"))
    return app, client


def state(conn: Connection) -> str:
    [(found,)] = conn.execute("SELECT state FROM refunds").fetchall()
    return str(found)


class TestARefundThatIsBooked:
    def test_while_its_gateway_refuses_a_second_call_is_done(
        self, app: App, conn: Connection, refund: RefundRow
    ) -> None:
        app, client = asking_about(app)
        client.while_asked = lambda: book(app, refund)
        client.fail_next(REFUSED)
        run_due(app, conn, of_type=JOB)
        assert (state(conn), states_of(conn, JOB)) == ("booked", ["cancelled"])

    def test_after_its_gateway_refused_it_takes_its_dead_job_away(
        self, app: App, conn: Connection, refund: RefundRow
    ) -> None:
        app, client = asking_about(app)
        client.fail_next(REFUSED)
        run_due(app, conn, of_type=JOB)
        assert (state(conn), states_of(conn, JOB)) == ("refused", ["dead_letter"])
        book(app, refund)
        assert (state(conn), states_of(conn, JOB)) == ("booked", ["cancelled"])

    def test_after_its_time_was_over_takes_its_dead_job_away(
        self, app: App, conn: Connection, refund: RefundRow
    ) -> None:
        [(job_id,)] = conn.execute("SELECT id FROM jobs WHERE job_type = 'send_refund'").fetchall()
        token = ledger.new_token()
        ledger.claim_one(conn, job_id, token=token)
        lease.settle(conn, {job_id: DeadLetter("GatewayUnavailable", "x")}, token=token)
        book(app, refund)
        assert states_of(conn, JOB) == ["cancelled"]

    def test_between_a_refusal_and_the_end_of_its_job_leaves_no_dead_job(
        self, app: App, conn: Connection, refund: RefundRow
    ) -> None:
        """The refusal is written down, the event comes, and only then the worker settles."""
        [(job_id,)] = conn.execute("SELECT id FROM jobs WHERE job_type = 'send_refund'").fetchall()
        token = ledger.new_token()
        ledger.claim_one(conn, job_id, token=token)
        conn.execute("UPDATE refunds SET state = 'refused', refusal = 'x'")
        book(app, refund)
        lease.settle(conn, {job_id: DeadLetter("GatewayRefused", "x")}, token=token)
        assert (state(conn), states_of(conn, JOB)) == ("booked", ["cancelled"])

    def test_of_another_amount_is_not_and_its_dead_job_stays_for_a_person(
        self, app: App, conn: Connection, refund: RefundRow
    ) -> None:
        app, client = asking_about(app)
        client.fail_next(REFUSED)
        run_due(app, conn, of_type=JOB)
        tell(app, refund.order_number, "partially_refunded", "one", minute=9, amount_rupiah=1, refund_id=refund.key)
        assert (state(conn), states_of(conn, JOB)) == ("refused", ["dead_letter"])


class TestARefundThatWasSent:
    def test_by_another_worker_while_its_double_is_refused_stays_sent(
        self, app: App, conn: Connection, refund: RefundRow
    ) -> None:
        def sent_meanwhile() -> None:
            conn.execute("UPDATE refunds SET state = 'sent', sent_at = now()")

        app, client = asking_about(app)
        client.while_asked = sent_meanwhile
        client.fail_next(REFUSED)
        run_due(app, conn, of_type=JOB)
        assert (state(conn), states_of(conn, JOB)) == ("sent", ["completed"])


STEPS = ("run", "run, refused", "run, no answer", "run, booked meanwhile", "run, refused and booked", "redrive", "book")


class TestEverySequence:
    @pytest.mark.parametrize("first", STEPS)
    def test_ends_with_the_job_that_its_refund_deserves(
        self, app: App, conn: Connection, number: OrderNumber, first: str
    ) -> None:
        """Three steps in every order: what is booked has no job left, what was refused has one that is dead."""
        app, client = asking_about(app)
        for steps in itertools.product((first,), STEPS, STEPS):
            conn.execute("UPDATE refunds SET state = 'refused', refusal = 'x' WHERE state IN ('requested', 'sent')")
            refund = ask_for_refund(app, RefundRequest(number, "damaged in transit", "service desk", 1))
            for step in steps:
                take(app, conn, client, refund, step)
            [(what,)] = conn.execute("SELECT state FROM refunds WHERE key = %s", [refund.key]).fetchall()
            key = SendRefund(refund_key=refund.key).unique_key
            [(job,)] = conn.execute("SELECT state FROM jobs WHERE unique_key = %s", [key]).fetchall()
            reported = any("book" in step for step in steps)
            asked = {each.key for each in client.refunds}
            assert (what == "booked") is reported, steps
            assert (
                job
                in {
                    "booked": {"completed", "cancelled"},
                    "sent": {"completed"},
                    "refused": {"pending" if steps[-1] == "redrive" else "dead_letter"},
                    "requested": {"pending", "retry_waiting"},
                }[what]
            ), (steps, what)
            assert what != "sent" or refund.key in asked
        assert order_status(conn, number) in {"paid", "partially_refunded"}


def take(app: App, conn: Connection, client: FakeGatewayClient, refund: RefundRow, step: str) -> None:
    key = SendRefund(refund_key=refund.key).unique_key
    client.while_asked = lambda: None
    if step == "redrive":
        dead = conn.execute("SELECT id FROM jobs WHERE unique_key = %s AND state = 'dead_letter'", [key]).fetchall()
        dead_letter.redrive(conn, [job_id for (job_id,) in dead])
        return
    if step == "book":
        book(app, refund)
        return
    ledger.let_pass(conn, ledger.MINUTE)
    if "booked" in step:
        client.while_asked = lambda: book(app, refund)
    [(runs,)] = conn.execute(
        "SELECT count(*) FROM jobs j JOIN refunds r ON j.unique_key = 'send_refund:' || r.key"
        " WHERE j.unique_key = %s AND j.state IN ('pending', 'queued', 'retry_waiting') AND r.state = 'requested'",
        [key],
    ).fetchall()
    if runs and "refused" in step:
        client.fail_next(REFUSED)
    if runs and "no answer" in step:
        client.fail_next(GatewayUnavailable(GATEWAY, "timed out"))
    run_due(app, conn, of_type=JOB)
    client.while_asked = lambda: None
    if "booked" in step:
        book(app, refund)
