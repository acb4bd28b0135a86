"""A payment gateway in memory."""

import threading
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from skincare.payments.errors import GatewayRefused
from skincare.payments.models import Attempt, EventStatus, Refund, Report


def _at_once() -> None:
    """Wait for nothing."""


class FakeGatewayClient:
    """A `GatewayClient` that knows what `tell` told it, and fails or waits when told to."""

    def __init__(self, name: str = "standard_webhooks") -> None:
        self.name = name
        self.started: list[Attempt] = []
        self.asked: list[Attempt] = []
        self.refunds: list[Refund] = []
        """Each refund once, however often it was asked for."""
        self.while_asked: Callable[[], None] = _at_once
        """Runs in the middle of every call: where a test lets time pass."""
        self._lock = threading.Lock()
        self._failures: deque[Exception] = deque()
        self._reports: defaultdict[str, list[Report]] = defaultdict(list)

    def start(self, attempt: Attempt) -> str:
        self._answer()
        self.started.append(attempt)
        return f"https://pay.example.com/{attempt.reference}"

    def transactions(self, attempt: Attempt) -> Sequence[Report]:
        self._answer()
        with self._lock:
            self.asked.append(attempt)
            return tuple(self._reports[attempt.reference])

    def refund(self, refund: Refund) -> None:
        self._answer()
        with self._lock:
            if any(known.key == refund.key for known in self.refunds):
                return
            paid = [
                report
                for reports in self._reports.values()
                for report in reports
                if report.transaction_id == refund.transaction_id and report.status is EventStatus.PAID
            ]
            gone = sum(each.amount_rupiah for each in self.refunds if each.transaction_id == refund.transaction_id)
            if not paid or refund.amount_rupiah > paid[0].amount_rupiah - gone:
                raise GatewayRefused(self.name, "there is no such payment, or not so much left")
            self.refunds.append(refund)

    def tell(self, reference: str, *reports: Report) -> None:
        """Let the gateway know exactly these transactions of an attempt."""
        with self._lock:
            self._reports[reference] = list(reports)

    def fail_next(self, error: Exception) -> None:
        """Let the next call fail; called again, also the one after it."""
        with self._lock:
            self._failures.append(error)

    def _answer(self) -> None:
        self.while_asked()
        with self._lock:
            if self._failures:
                raise self._failures.popleft()


def report_of(
    reference: str,
    transaction_id: str = "transaction-1",
    status: EventStatus | None = EventStatus.PAID,
    amount_rupiah: int = 150_000,
    *,
    refund_key: str | None = None,
    occurred_at: datetime = datetime(2026, 1, 15, 2, 59, 58, tzinfo=UTC),
) -> Report:
    """What a gateway knows of a transaction of an attempt."""
    return Report(
        order_number=reference.rpartition(".")[0],
        transaction_id=transaction_id,
        reported_status=str(status),
        status=status,
        amount_rupiah=amount_rupiah,
        currency="IDR",
        occurred_at=occurred_at,
        refund_key=refund_key,
    )
