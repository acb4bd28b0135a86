"""A worker is killed at each step of what a payment sets off; nothing is lost, and nothing happens twice."""

import os
import signal

import pytest

from skincare.identifiers import OrderNumber
from skincare.jobs.repository import dead_letter
from skincare.payments.service import receive
from tests.integration.jobs import worker_kills
from tests.support import crash_process
from tests.support.aws import LONG_TIMEOUTS
from tests.support.crash_shop import Shop, shop
from tests.support.forked import Forked
from tests.support.invoices import numbers, text_of
from tests.support.payments import KNOWN, order_status, payments
from tests.support.randomness import Times
from tests.support.shop import set_stock
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


def pay_many(shop: Shop, count: int) -> list[OrderNumber]:
    """Place so many orders and let the gateway tell that each is paid."""
    set_stock(shop.conn, 1000)
    orders = [place(shop, f"user-{number}") for number in range(count)]
    shop.come_to_rest()
    for number in orders:
        pay(shop, number)
    return orders


def check_the_books(shop: Shop, *numbers_in_books: OrderNumber) -> None:
    """Each order is paid, once, with a number of its own and none between them left out."""
    count = len(numbers_in_books)
    assert [number.rpartition("/")[2] for number in numbers(shop.conn)] == [f"{n:06}" for n in range(1, count + 1)]
    assert {order_status(shop.conn, number) for number in numbers_in_books} == {"paid"}
    assert len(payments(shop.conn)) == count
    completed = shop.conn.execute(
        "SELECT job_type, count(*), count(DISTINCT order_number) FROM jobs WHERE state = 'completed'"
        " GROUP BY 1 ORDER BY 1"
    ).fetchall()
    assert completed == [
        (job_type, count, count)
        for job_type in (
            "generate_invoice_pdf",
            "process_payment",
            "send_confirmation_email",
            "send_payment_received_email",
        )
    ]
    ended = shop.conn.execute(
        "SELECT count(*), count(DISTINCT job_id) FROM job_attempts JOIN jobs ON jobs.id = job_id"
        " WHERE outcome = 'completed' AND job_type = 'process_payment'"
    ).fetchone()
    assert ended == (count, count)


@pytest.mark.parametrize("point", crash_process.POINTS_OF_PAYMENTS_IN_A_BATCH)
def test_killed_there_payments_in_a_batch_are_all_applied_or_none_and_each_once(shop: Shop, point: str) -> None:
    orders = [place(shop, f"user-{number}") for number in range(3)]
    shop.come_to_rest()
    for number in orders:
        pay(shop, number)
    process = shop.start(crash_process.POINTS_OF_PAYMENTS_IN_A_BATCH[point][0], point)
    assert process.wait() == -signal.SIGKILL, "the point was not reached"
    paid = len(payments(shop.conn))
    assert paid == (3 if point in {"all committed", "all set off"} else 0)
    states = shop.conn.execute("SELECT DISTINCT state FROM jobs WHERE job_type = 'process_payment'").fetchall()
    assert states == [("completed" if paid else "processing",)]
    shop.come_to_rest()
    check_the_books(shop, *orders)


def test_payments_in_batches_of_workers_that_are_killed_at_random_are_applied_once(
    shop: Shop, times: Times, random_seed: int
) -> None:
    kills, count = times(short=8, long=40), times(short=30, long=120)
    orders = pay_many(shop, count)
    killer = Forked(worker_kills.main, kills, random_seed, environ={**os.environ, **shop.environ})
    assert killer.wait(timeout_s=150) == 0
    shop.come_to_rest()
    # Innocent jobs can be under way at five kills, too.
    dead_letter.redrive(
        shop.conn, [id for (id,) in shop.conn.execute("SELECT id FROM jobs WHERE state = 'dead_letter'")]
    )
    shop.come_to_rest()
    check_the_books(shop, *orders)


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
