"""What every client of a payment gateway promises. A subclass provides the `bench` fixture."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from urllib.parse import urlsplit

import pytest

from skincare.payments.errors import GatewayRefused, GatewayUnavailable
from skincare.payments.models import Attempt, Closing, EventStatus, Refund, Report
from skincare.payments.ports import GatewayClient

_numbers = itertools.count(1)
TOTAL = 150_000
REFUNDS = {EventStatus.REFUNDED, EventStatus.PARTIALLY_REFUNDED}


@dataclass
class Bench:
    """A client, and what a customer does at its gateway."""

    client: GatewayClient
    pay: Callable[[Attempt], None]
    unreachable: GatewayClient
    """A client whose gateway does not answer."""
    wait_for_money: Callable[[Attempt], None] = lambda _: None
    """Lets a customer choose a way to pay at which the gateway then waits for the money."""


def new_attempt() -> Attempt:
    number = f"SKN-00000-{next(_numbers):05}"
    return Attempt(number, 1, TOTAL, datetime.now(UTC) + timedelta(minutes=60))


def paid_attempt(bench: Bench) -> tuple[Attempt, Report]:
    attempt = new_attempt()
    bench.client.start(attempt)
    bench.pay(attempt)
    (report,) = bench.client.transactions(attempt)
    return attempt, report


def refund_of(report: Report, amount_rupiah: int = TOTAL, key: str = "") -> Refund:
    return Refund(
        order_number=report.order_number,
        transaction_id=report.transaction_id,
        amount_rupiah=amount_rupiah,
        key=key or f"refund-{next(_numbers)}",
        reason="the customer changed their mind",
    )


class GatewayClientContract:
    """The suite."""

    class TestStarting:
        def test_leads_to_a_page(self, bench: Bench) -> None:
            url = urlsplit(bench.client.start(new_attempt()))
            assert url.scheme == "https" or url.hostname == "127.0.0.1"

        def test_again_makes_no_second_debt(self, bench: Bench) -> None:
            attempt = new_attempt()
            for _ in range(2):
                assert bench.client.start(attempt)
            bench.pay(attempt)
            assert [report.amount_rupiah for report in bench.client.transactions(attempt)] == [TOTAL]

    class TestAsking:
        def test_for_an_attempt_that_nobody_started_finds_nothing(self, bench: Bench) -> None:
            assert list(bench.client.transactions(new_attempt())) == []

        def test_for_an_attempt_that_nobody_paid_finds_nothing(self, bench: Bench) -> None:
            attempt = new_attempt()
            bench.client.start(attempt)
            assert list(bench.client.transactions(attempt)) == []

        def test_finds_what_was_paid(self, bench: Bench) -> None:
            attempt, report = paid_attempt(bench)
            assert (report.order_number, report.attempt_no) == (attempt.order_number, 1)
            assert (report.status, report.amount_rupiah, report.currency) == (EventStatus.PAID, TOTAL, "IDR")
            assert report.transaction_id
            assert report.refund_key is None

    class TestClosing:
        def test_lets_nobody_pay_any_more(self, bench: Bench) -> None:
            attempt = new_attempt()
            bench.client.start(attempt)
            bench.wait_for_money(attempt)
            assert bench.client.close(attempt) is Closing.CLOSED
            assert all(report.status is EventStatus.EXPIRED for report in bench.client.transactions(attempt))

        def test_again_changes_nothing(self, bench: Bench) -> None:
            attempt = new_attempt()
            bench.client.start(attempt)
            bench.wait_for_money(attempt)
            assert [bench.client.close(attempt) for _ in range(2)] == [Closing.CLOSED, Closing.CLOSED]

        def test_comes_too_late_for_what_is_paid(self, bench: Bench) -> None:
            attempt, paid = paid_attempt(bench)
            assert [bench.client.close(attempt) for _ in range(2)] == [Closing.PAID, Closing.PAID]
            assert list(bench.client.transactions(attempt)) == [paid]

        def test_of_what_nobody_started_finds_nothing(self, bench: Bench) -> None:
            assert bench.client.close(new_attempt()) is Closing.UNKNOWN

    class TestGivingBack:
        def test_in_parts_is_told_part_by_part_beside_the_payment(self, bench: Bench) -> None:
            attempt, paid = paid_attempt(bench)
            bench.client.refund(refund_of(paid, 50_000, "first"))
            bench.client.refund(refund_of(paid, 100_000, "second"))
            reports = bench.client.transactions(attempt)
            assert [report.amount_rupiah for report in reports if report.status is EventStatus.PAID] == [TOTAL]
            refunds = [report for report in reports if report.status in REFUNDS]
            assert {report.refund_key: report.amount_rupiah for report in refunds} == {
                "first": 50_000,
                "second": 100_000,
            }
            assert {report.transaction_id for report in reports} == {paid.transaction_id}

        def test_again_with_the_same_key_gives_back_once(self, bench: Bench) -> None:
            attempt, paid = paid_attempt(bench)
            for _ in range(2):
                bench.client.refund(refund_of(paid, 50_000, "once"))
            refunds = [report for report in bench.client.transactions(attempt) if report.status in REFUNDS]
            assert [report.amount_rupiah for report in refunds] == [50_000]

        def test_more_than_came_is_refused(self, bench: Bench) -> None:
            _, paid = paid_attempt(bench)
            with pytest.raises(GatewayRefused):
                bench.client.refund(refund_of(paid, TOTAL + 1))

        def test_of_a_transaction_that_nobody_knows_is_refused(self, bench: Bench) -> None:
            refund = Refund("SKN-00000-00000", "none", TOTAL, "key", "no reason")
            with pytest.raises(GatewayRefused):
                bench.client.refund(refund)

    class TestAGatewayThatDoesNotAnswer:
        def test_may_answer_later(self, bench: Bench) -> None:
            attempt = new_attempt()
            with pytest.raises(GatewayUnavailable):
                bench.unreachable.start(attempt)
            with pytest.raises(GatewayUnavailable):
                bench.unreachable.transactions(attempt)
            with pytest.raises(GatewayUnavailable):
                bench.unreachable.close(attempt)
            with pytest.raises(GatewayUnavailable):
                bench.unreachable.refund(Refund(attempt.order_number, "trx", TOTAL, "key", "no reason"))
