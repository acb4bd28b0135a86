"""Payments as tests use them: webhooks that arrive, events that are applied, and what came of it."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from psycopg import Connection

from skincare.app import App
from skincare.identifiers import OrderNumber
from skincare.jobs.catalog import ProcessPayment
from skincare.payments.attempts import repository as attempts
from skincare.payments.models import Attempt
from skincare.payments.reconciliation.service import Reconciliation, check
from skincare.payments.refunds.models import RefundRequest, RefundRow
from skincare.payments.refunds.service import request_refund
from skincare.payments.service import receive
from tests.fakes.gateway_client import FakeGatewayClient
from tests.support.factories import make_order
from tests.support.http import RecordingPublisher
from tests.support.webhooks import NOW, SECRETS, FixedSecrets, webhook_of
from worker.handlers import process_payment

KNOWN = FixedSecrets({gateway: (secret,) for gateway, secret in SECRETS.items()})


def take_in(
    app: App,
    gateway: str = "standard_webhooks",
    *,
    secrets: FixedSecrets = KNOWN,
    merchant_ids: Mapping[str, str] | None = None,
    **changes: Any,
) -> None:
    """Receive a truly signed webhook; `changes` replace members of its body."""
    receive(
        gateway,
        webhook_of(gateway, **changes),
        secrets=secrets,
        database=app.database,
        publisher=app.publisher,
        request_id="request-1",
        now=NOW,
        merchant_ids=merchant_ids,
    )


def run_jobs(app: App) -> None:
    """Handle the published jobs that apply events, in their order; what they publish stays with the publisher."""
    assert isinstance(app.publisher, RecordingPublisher)
    jobs = app.publisher.jobs
    app.publisher.jobs = [job for job in jobs if job.job_type != ProcessPayment.job_type]
    for job in jobs:
        if job.job_type != ProcessPayment.job_type:
            continue
        process_payment.handle(ProcessPayment.model_validate(job.payload), app)


def tell(
    app: App, order_number: OrderNumber, status: str, transaction: str = "one", *, key: str = "", **changes: Any
) -> None:
    """Take in what our own gateway says about an order and apply it; events of one key are one event."""
    minutes = changes.pop("minute", 0)
    take_in(
        app,
        event_id=key or f"{order_number}-{transaction}-{status}-{minutes}",
        order_number=order_number,
        status=status,
        transaction_id=transaction,
        occurred_at=(NOW + timedelta(minutes=minutes)).isoformat(),
        **changes,
    )
    run_jobs(app)


def gateway_of(app: App, name: str) -> FakeGatewayClient:
    """The gateway that an App asks."""
    client = app.gateways[name]
    assert isinstance(client, FakeGatewayClient)
    return client


def make_attempt(conn: Connection, order_number: str, gateway: str = "midtrans") -> Attempt:
    """Open an order's next attempt at a gateway."""
    row = conn.execute("SELECT id FROM orders WHERE order_number = %s", [order_number]).fetchone()
    assert row is not None
    started = attempts.open_next(conn, row[0], gateway=gateway)
    assert started is not None, "the order's end is too near"
    return started.attempt


def new_order(conn: Connection) -> OrderNumber:
    """A pending order of 150,000 rupiah."""
    return make_order(conn).order.order_number


def order_status(conn: Connection, order_number: OrderNumber) -> str:
    row = conn.execute("SELECT status FROM orders WHERE order_number = %s", [order_number]).fetchone()
    assert row is not None
    return str(row[0])


def events(conn: Connection) -> list[tuple[str, str | None]]:
    """Return state and status of the stored events, in the order in which they came."""
    return conn.execute("SELECT state, status FROM payment_events ORDER BY received_at, id").fetchall()


def anomalies(conn: Connection) -> list[tuple[str, str, int, int, int]]:
    """Return kind, task, expected, told and give-back amount of the open anomalies."""
    return conn.execute(
        "SELECT kind, task, expected_rupiah, amount_rupiah, give_back_rupiah FROM payment_anomalies"
        " WHERE withdrawn_at IS NULL AND resolved_at IS NULL ORDER BY kind, id"
    ).fetchall()


def payments(conn: Connection) -> list[tuple[str, str, int, int, bool]]:
    """Return transaction, status, amount, refunded amount of the payments, and which one pays its order."""
    return conn.execute(
        "SELECT transaction_id, status, amount_rupiah, refunded_rupiah, pays_order FROM payments ORDER BY 1"
    ).fetchall()


def ask_for_refund(app: App, request: RefundRequest) -> RefundRow:
    """Write a refund down in a transaction of its own."""
    with app.database.connection() as conn, conn.transaction():
        return request_refund(conn, request)


def checked(app: App) -> Reconciliation:
    """Reconcile."""
    return check(app.database)
