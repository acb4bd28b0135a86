"""When an order was paid: the payment's own time, as far as it can be true, in whatever zone anybody counts."""

from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from psycopg import Connection

from skincare.app import App
from skincare.identifiers import OrderNumber
from tests.support.http import open_app
from tests.support.invoices import numbers
from tests.support.payments import new_order, order_status, run_jobs, take_in

HOUR = timedelta(hours=1)
LAST = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)
FIRST = datetime(1, 1, 1, tzinfo=UTC)


def age(owner_url: str, number: OrderNumber, time: timedelta) -> None:
    with psycopg.connect(owner_url, autocommit=True) as owner:
        owner.execute(
            "UPDATE orders SET created_at = created_at - %(time)s, expires_at = expires_at - %(time)s"
            " WHERE order_number = %(number)s",
            {"time": time, "number": number},
        )


def pay_at(app: App, number: OrderNumber, moment: datetime | None, **changes: Any) -> None:
    said: dict[str, Any] = {} if moment is None else {"occurred_at": moment.isoformat()}
    take_in(app, event_id=number, order_number=number, transaction_id=number, **said | changes)
    run_jobs(app)


def paid_at(conn: Connection, number: OrderNumber) -> tuple[datetime, datetime, datetime]:
    """When the order was placed, paid, and its invoice issued."""
    row = conn.execute(
        "SELECT o.created_at, o.paid_at, v.created_at FROM orders o JOIN invoices v ON v.order_id = o.id"
        " WHERE order_number = %s",
        [number],
    ).fetchone()
    assert row is not None
    return row


class TestAnOrderWasPaid:
    def test_when_its_payment_was_made_and_not_when_we_heard_of_it(
        self, app: App, conn: Connection, owner_url: str
    ) -> None:
        number = new_order(conn)
        age(owner_url, number, 3 * HOUR)
        moment = datetime.now(UTC) - 2 * HOUR
        pay_at(app, number, moment)
        _, paid, issued = paid_at(conn, number)
        assert paid == moment
        assert issued - paid > HOUR

    @pytest.mark.parametrize("moment", [FIRST, datetime(2001, 1, 1, tzinfo=UTC)])
    def test_never_before_it_was_placed(self, app: App, conn: Connection, moment: datetime) -> None:
        number = new_order(conn)
        pay_at(app, number, moment)
        placed, paid, _ = paid_at(conn, number)
        assert paid == placed

    @pytest.mark.parametrize("moment", [datetime.now(UTC) + 48 * HOUR, LAST])
    def test_never_in_the_future(self, app: App, conn: Connection, moment: datetime) -> None:
        number = new_order(conn)
        pay_at(app, number, moment)
        _, paid, issued = paid_at(conn, number)
        # The invoice is dated when its number is its own, a moment later.
        assert timedelta(0) <= issued - paid < timedelta(minutes=1)

    def test_now_where_nobody_says_when(self, app: App, conn: Connection) -> None:
        number = new_order(conn)
        pay_at(app, number, None, occurred_at=None)
        _, paid, issued = paid_at(conn, number)
        # The invoice is dated when its number is its own, a moment later.
        assert timedelta(0) <= issued - paid < timedelta(minutes=1)

    def test_in_the_year_of_its_payment_and_numbered_in_the_one_of_its_invoice(
        self, app: App, conn: Connection, owner_url: str
    ) -> None:
        """A number follows the one before it; a year that has ended gets none any more."""
        number = new_order(conn)
        age(owner_url, number, 400 * 24 * HOUR)
        pay_at(app, number, datetime.now(UTC) - 399 * 24 * HOUR)
        _, paid, issued = paid_at(conn, number)
        jakarta = issued + 7 * HOUR
        assert (issued - paid).days == 399
        assert numbers(conn) == [f"INV/{jakarta.astimezone(UTC).year}/000001"]


class TestASession:
    def test_counts_in_utc(self, conn: Connection) -> None:
        assert conn.execute("SHOW timezone").fetchone() == ("UTC",)

    @pytest.mark.parametrize("zone", ["Asia/Jakarta", "Pacific/Kiritimati", "America/Los_Angeles"])
    @pytest.mark.parametrize("moment", [FIRST, LAST])
    def test_of_any_zone_reads_what_any_gateway_tells(
        self, database_url: str, database_name: str, owner_url: str, conn: Connection, zone: str, moment: datetime
    ) -> None:
        number = new_order(conn)
        with psycopg.connect(owner_url, autocommit=True) as owner:
            owner.execute(f"ALTER ROLE app IN DATABASE \"{database_name}\" SET timezone = '{zone}'".encode())
        with open_app(database_url) as app:
            with app.database.connection() as ours:
                assert ours.execute("SHOW timezone").fetchone() == (zone,)
            pay_at(app, number, moment)
        assert order_status(conn, number) == "paid"
