"""What tests about money over time need: attempts, time that passes, and an App that can ask gateways."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

from psycopg import Connection

from skincare.app import App
from skincare.identifiers import OrderNumber
from skincare.jobs.catalog import ExpireOrder
from tests.fakes.gateway_client import FakeGatewayClient, report_of
from worker.handlers import expire_order

GATEWAY = "standard_webhooks"
ENDED = timedelta(hours=-1)
OPEN = timedelta(hours=1)


def asking(app: App) -> tuple[App, FakeGatewayClient]:
    """The same App with a gateway that can be asked."""
    client = FakeGatewayClient(GATEWAY)
    return replace(app, gateways={GATEWAY: client}), client


def start_attempt(
    conn: Connection, number: OrderNumber, attempt_no: int = 1, *, expires_in: timedelta = ENDED, gateway: str = GATEWAY
) -> str:
    """Write down that a payment was started, and return its reference at the gateway."""
    conn.execute(
        "INSERT INTO payment_attempts (order_id, attempt_no, gateway, amount_rupiah, expires_at)"
        " SELECT id, %s, %s, total_rupiah, now() + %s FROM orders WHERE order_number = %s",
        [attempt_no, gateway, expires_in, number],
    )
    return f"{number}.{attempt_no}"


def expire(app: App, number: OrderNumber) -> None:
    """Let the order's timer go off."""
    expire_order.handle(ExpireOrder(order_number=number), app)


def timer_state(conn: Connection, number: OrderNumber) -> str:
    """Return the state of the only timer that the order ever had."""
    (row,) = conn.execute(
        "SELECT state FROM jobs WHERE job_type = 'expire_order' AND order_number = %s", [number]
    ).fetchall()
    return str(row[0])


def gateway_says(client: FakeGatewayClient, reference: str, **changes: Any) -> None:
    """Let the gateway know of one transaction of an attempt: paid, unless `changes` say something else."""
    client.tell(reference, report_of(reference, **changes))
