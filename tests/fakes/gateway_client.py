"""A payment gateway in memory."""

import threading
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from skincare.payments.errors import GatewayRefused, ReferenceTaken
from skincare.payments.models import Attempt, Closing, EventStatus, Refund, Report, attempt_named


def _at_once() -> None:
    """Wait for nothing."""


class FakeGatewayClient:
    """A `GatewayClient` that knows what it was told by `pay` and `tell`, and fails or waits when told to."""

    def __init__(self, name: str = "standard_webhooks") -> None:
        self.name = name
        self.started: list[Attempt] = []
        self.asked: list[Attempt] = []
        self.named: Sequence[str] = ()
        """The transactions that the last question named."""
        self.refunds: list[Refund] = []
        """Each refund once, however often it was asked for."""
        self.closed: list[str] = []
        """References, as often as they were closed."""
        self.ways_known_by_transaction_only: set[str] = set()
        """References whose transactions are found by their own identifiers alone."""
        self.while_asked: Callable[[], None] = _at_once
        """Runs in the middle of every call: where a test lets time pass."""
        self.cannot_close: set[str] = set()
        """References whose payments under way nobody can stop."""
        self._lock = threading.Lock()
        self._failures: deque[Exception] = deque()
        self._reports: defaultdict[str, list[Report]] = defaultdict(list)

    def start(self, attempt: Attempt) -> str:
        self._answer()
        with self._lock:
            if attempt.reference in self.closed or attempt.reference in self.ways_known_by_transaction_only:
                raise ReferenceTaken(self.name)
            self.started.append(attempt)
        return f"https://pay.example.com/{attempt.reference}"

    def transactions(self, attempt: Attempt, transaction_ids: Collection[str] = ()) -> Sequence[Report]:
        self._answer()
        with self._lock:
            self.asked.append(attempt)
            self.named = list(transaction_ids)
            return self._found(attempt, transaction_ids)

    def close(self, attempt: Attempt, transaction_ids: Collection[str] = ()) -> Closing:
        self._answer()
        with self._lock:
            found = self._found(attempt, transaction_ids)
            statuses = {report.status for report in found}
            if EventStatus.PAID in statuses:
                return Closing.PAID
            if statuses - {EventStatus.FAILED, EventStatus.EXPIRED} and attempt.reference in self.cannot_close:
                return Closing.UNDER_WAY
            if not found and all(attempt.reference != known.reference for known in self.started):
                return Closing.UNKNOWN
            self.closed.append(attempt.reference)
            self._reports[attempt.reference] = [
                replace(report, status=EventStatus.EXPIRED) if report.status is EventStatus.PENDING else report
                for report in self._reports[attempt.reference]
            ]
            return Closing.CLOSED

    def _found(self, attempt: Attempt, transaction_ids: Collection[str]) -> tuple[Report, ...]:
        hidden = attempt.reference in self.ways_known_by_transaction_only
        return tuple(
            report
            for report in self._reports[attempt.reference]
            if not hidden or report.transaction_id in transaction_ids
        )

    def refund(self, refund: Refund) -> None:
        self._answer()
        with self._lock:
            if any(known.key == refund.key for known in self.refunds):
                return
            reference, paid = self._payment(refund)
            left = paid.amount_rupiah - sum(
                known.amount_rupiah for known in self.refunds if known.transaction_id == refund.transaction_id
            )
            if not 0 < refund.amount_rupiah <= left:
                raise GatewayRefused(self.name, "there is not so much left")
            self.refunds.append(refund)
            status = EventStatus.REFUNDED if refund.amount_rupiah == left else EventStatus.PARTIALLY_REFUNDED
            self._reports[reference].append(
                report_of(reference, refund.transaction_id, status, refund.amount_rupiah, refund_key=refund.key)
            )

    def tell(self, reference: str, *reports: Report) -> None:
        """Let the gateway know exactly these transactions of an attempt."""
        with self._lock:
            self._reports[reference] = list(reports)

    def pay(self, attempt: Attempt, transaction_id: str = "transaction-1") -> None:
        """Let a customer pay an attempt."""
        report = report_of(attempt.reference, transaction_id, EventStatus.PAID, attempt.amount_rupiah)
        self.tell(attempt.reference, report)

    def fail_next(self, error: Exception) -> None:
        """Let the next call fail; called again, also the one after it."""
        with self._lock:
            self._failures.append(error)

    def _answer(self) -> None:
        self.while_asked()
        with self._lock:
            if self._failures:
                raise self._failures.popleft()

    def _payment(self, refund: Refund) -> tuple[str, Report]:
        for reference, reports in self._reports.items():
            for report in reports:
                if report.transaction_id == refund.transaction_id and report.status is EventStatus.PAID:
                    return reference, report
        raise GatewayRefused(self.name, "there is no such payment")


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
    order_number, attempt_no = attempt_named(reference)
    return Report(
        order_number=order_number,
        transaction_id=transaction_id,
        reported_status=str(status),
        status=status,
        amount_rupiah=amount_rupiah,
        currency="IDR",
        occurred_at=occurred_at,
        refund_key=refund_key,
        attempt_no=attempt_no,
    )
