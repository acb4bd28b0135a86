"""Confirmations on a bench: the real service and database, a mail provider that a test scripts."""

from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from psycopg import Connection
from psycopg.rows import dict_row

from skincare.database.connection import Database, StaticCredentials
from skincare.identifiers import OrderNumber
from skincare.notifications.models import NotificationOutcome, NotificationType
from skincare.notifications.ports import Email, EmailSender
from skincare.notifications.service import notify_customer
from tests.fakes.email import FakeEmailSender
from tests.support.factories import make_order

SHOP_URL = "https://shop.example.com"


class ConfirmationBench:
    """`conn` is the test's own connection; the service has one of its own, and at most that one."""

    def __init__(self, conn: Connection, database: Database, owner_url: str) -> None:
        self.conn = conn
        self._owner_url = owner_url
        self.database = database
        self.mail = FakeEmailSender()

    def order(self, *, stored_email: str | None = None, **changes: Any) -> OrderNumber:
        """Place an order; `stored_email` replaces the address afterwards, as an older release may have left it."""
        number = make_order(self.conn, **changes).order.order_number
        if stored_email is not None:
            self.conn.execute("UPDATE orders SET email = %s WHERE order_number = %s", [stored_email, number])
        return number

    def confirm(self, number: str, sender: EmailSender | None = None) -> NotificationOutcome:
        return self.tell(NotificationType.ORDER_CONFIRMATION, number, sender)

    def thank(self, number: str) -> NotificationOutcome:
        """Tell that the payment was received."""
        return self.tell(NotificationType.PAYMENT_RECEIVED, number)

    def tell(self, kind: NotificationType, number: str, sender: EmailSender | None = None) -> NotificationOutcome:
        return notify_customer(
            kind, OrderNumber(number), database=self.database, email=sender or self.mail, shop_url=SHOP_URL
        )

    def set_status(self, number: str, status: str) -> None:
        self.conn.execute("UPDATE orders SET status = %s WHERE order_number = %s", [status, number])

    def suppress(self, address: str) -> None:
        self.conn.execute("INSERT INTO suppressed_recipients (email, reason) VALUES (%s, 'bounce')", [address])

    def delete(self, number: str) -> None:
        with psycopg.connect(self._owner_url) as owner:
            owner.execute(
                "DELETE FROM order_items USING orders o WHERE o.id = order_id AND o.order_number = %s", [number]
            )
            owner.execute("DELETE FROM orders WHERE order_number = %s", [number])

    def notifications(self) -> list[dict[str, Any]]:
        """Return what is recorded, of all orders."""
        columns = "notification_type, status, provider_message_id, reason"
        return self.conn.cursor(row_factory=dict_row).execute(f"SELECT {columns} FROM order_notifications").fetchall()


class WithinSend(FakeEmailSender):
    """Does something of the test's while the provider is being waited for."""

    def __init__(self, action: Callable[[], object]) -> None:
        super().__init__()
        self._action = action

    def send(self, email: Email) -> str:
        self._action()
        return super().send(email)


@pytest.fixture
def bench(database_url: str, owner_url: str) -> Iterator[ConfirmationBench]:
    database = Database(StaticCredentials(database_url))
    with psycopg.connect(database_url, autocommit=True) as conn:
        yield ConfirmationBench(conn, database, owner_url)
    database.close()
