"""A worker is killed at each step of what a payment sets off; nothing is lost, and nothing happens twice."""

import signal

import pytest

from skincare.identifiers import OrderNumber
from skincare.payments.service import receive
from tests.support import crash_process
from tests.support.aws import LONG_TIMEOUTS
from tests.support.crash_shop import Shop, shop
from tests.support.invoices import numbers, text_of
from tests.support.payments import KNOWN, order_status, payments
from tests.support.webhooks import NOW, webhook_of

__all__ = ["shop"]

# Here the mail of the same payment may be anywhere, also between its send and its mark.
BESIDE_THE_MAIL = {"invoice loaded", "rendered", "uploaded", "row written"}


def place(shop: Shop, user_id: str) -> OrderNumber:
    shop.place(user_id)
    row = shop.conn.execute("SELECT order_number FROM orders WHERE user_id = %s", [user_id]).fetchone()
    assert row is not None
    return OrderNumber(row[0])


def pay(shop: Shop, number: OrderNumber) -> None:
    """Let the gateway say so."""
    receive(
        "standard_webhooks",
        webhook_of("standard_webhooks", order_number=number, event_id=number, transaction_id=number),
        secrets=KNOWN,
        database=shop.app.database,
        publisher=shop.app.publisher,
        request_id="request-1",
        now=NOW,
    )


def files(shop: Shop) -> dict[str, bytes]:
    """Return what is in the bucket, by key."""
    s3, bucket = shop.aws.client("s3", LONG_TIMEOUTS), shop.environ["INVOICE_BUCKET"]
    keys = [entry["Key"] for entry in s3.list_objects_v2(Bucket=bucket).get("Contents", [])]
    return {key: s3.get_object(Bucket=bucket, Key=key)["Body"].read() for key in keys}


@pytest.mark.parametrize("point", crash_process.POINTS_OF_A_PAYMENT)
def test_killed_there_the_payment_has_one_number_one_file_and_its_mail(shop: Shop, point: str) -> None:
    first, second = place(shop, "user-1"), place(shop, "user-2")
    shop.come_to_rest()
    confirmed = shop.mails()
    pay(shop, first)
    process = shop.start(crash_process.POINTS_OF_A_PAYMENT[point][0], point)
    assert process.wait() == -signal.SIGKILL, "the point was not reached"
    shop.come_to_rest()
    thanked = shop.mails() - confirmed
    assert thanked in ({1, 2} if point in BESIDE_THE_MAIL else {2} if point == "thanked" else {1})
    # The next payment shows whether the crash used up a number.
    pay(shop, second)
    shop.come_to_rest()
    assert [number.rpartition("/")[2] for number in numbers(shop.conn)] == ["000001", "000002"]
    assert [order_status(shop.conn, number) for number in (first, second)] == ["paid", "paid"]
    assert len(payments(shop.conn)) == 2
    rows = shop.conn.execute(
        "SELECT object_key, number, order_number FROM invoices JOIN orders ON orders.id = order_id ORDER BY serial"
    ).fetchall()
    assert [number for _, _, number in rows] == [first, second]
    kept = files(shop)
    assert sorted(kept) == sorted(key for key, _, _ in rows)
    for key, number, order_number in rows:
        text = text_of(kept[key])
        assert number in text
        assert order_number in text
    reported = shop.conn.execute(
        "SELECT count(*) FROM order_notifications WHERE notification_type = 'payment_received'"
    )
    assert reported.fetchone() == (2,)
    completed = shop.conn.execute(
        "SELECT job_type, count(*) FROM jobs WHERE state = 'completed' GROUP BY 1 ORDER BY 1"
    ).fetchall()
    assert completed == [
        ("generate_invoice_pdf", 2),
        ("process_payment", 2),
        ("send_confirmation_email", 2),
        ("send_payment_received_email", 2),
    ]
