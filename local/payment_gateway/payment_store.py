"""What the gateway knows: payments by their reference and what happened to each, kept in a file."""

import json
import threading
import uuid
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from emulator.gateway.problems import Refused

OURS = "standard_webhooks"
"""The gateway that speaks our own body."""


@dataclass(frozen=True)
class Entry:
    """Something that happened to a transaction; `refund_id` names a refund. Times are RFC 3339.

    `fee_rupiah` is what the customer pays to the gateway on top of the amount.
    """

    event_id: str
    transaction_id: str
    status: str
    amount_rupiah: int
    occurred_at: str
    refund_id: str | None = None
    fee_rupiah: int = 0


@dataclass
class Payment:
    """What a shop asked us to collect. `entries` has one per transaction and one per refund, oldest first."""

    reference: str
    amount_rupiah: int
    expires_at: str
    entries: list[Entry] = field(default_factory=list)
    gateway: str = OURS
    is_closed: bool = False
    """Whether the shop asked us to take no more money for it."""

    @property
    def paid(self) -> Entry | None:
        return next((entry for entry in self.entries if entry.status == "paid"), None)

    @property
    def waiting(self) -> Entry | None:
        """The transaction for which a customer has chosen how to pay, and whose money has not come."""
        newest = self.entries[-1] if self.entries else None
        return newest if newest and newest.status == "pending" else None

    @property
    def left_rupiah(self) -> int:
        """What of the money that came is still there."""
        gone = sum(entry.amount_rupiah for entry in self.entries if entry.refund_id is not None)
        return self.paid.amount_rupiah - gone if self.paid else 0

    @property
    def state(self) -> str:
        """Return open, paid, refunded, partially_refunded or closed."""
        if self.paid is not None:
            if self.left_rupiah == self.paid.amount_rupiah:
                return "paid"
            return "refunded" if self.left_rupiah == 0 else "partially_refunded"
        over = self.is_closed or datetime.fromisoformat(self.expires_at) <= datetime.now(UTC)
        return "closed" if over or any(entry.status == "expired" for entry in self.entries) else "open"


class PaymentStore:
    """All payments. Raises `Refused` for what a gateway would not do."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._lock = threading.Lock()
        self._payments: dict[str, Payment] | None = None

    def open(self, reference: str, amount_rupiah: int, expires_at: str, *, gateway: str = OURS) -> Payment:
        """Return the payment of a reference, a new one the first time."""
        with self._lock:
            known = self._all().get(reference)
            if known is None:
                known = self._all()[reference] = Payment(reference, amount_rupiah, expires_at, gateway=gateway)
                self._save()
            elif (known.amount_rupiah, known.gateway) != (amount_rupiah, gateway):
                raise _refused(409, "The reference belongs to a payment of another amount or gateway.")
            elif known.is_closed:
                raise _refused(409, "The payment was closed.")
            return known

    def close(self, reference: str) -> Payment:
        """Let nobody pay a payment any more, unless somebody has; closed again, it stays as it is."""
        with self._lock:
            payment = self._known(reference)
            if payment.paid is not None:
                raise _refused(409, "The payment is paid.")
            payment.is_closed = True
            self._save()
            return payment

    def known(self, name: str, *, gateway: str) -> Payment | None:
        """Return a gateway's payment by its reference or by a transaction, None where there is none."""
        with self._lock:
            return next(
                (
                    payment
                    for payment in self._all().values()
                    if payment.gateway == gateway
                    and name in {payment.reference, *(entry.transaction_id for entry in payment.entries)}
                ),
                None,
            )

    def note(self, reference: str, entry: Entry) -> None:
        """Let anything have happened to a payment, also what no customer could do."""
        with self._lock:
            self._known(reference).entries.append(entry)
            self._save()

    def find(self, reference: str) -> Payment:
        """Return a payment."""
        with self._lock:
            return self._known(reference)

    def happen(self, reference: str, what: str) -> tuple[Payment, Entry]:
        """Let a customer pay, fail or let the payment expire, or the gateway give all back: paid, failed, …"""
        with self._lock:
            payment = self._known(reference)
            if what == "refunded":
                return payment, self._give_back(payment, payment.left_rupiah, refund_id=str(uuid.uuid4()))
            if payment.state != "open":
                raise _refused(409, f"The payment is {payment.state.replace('_', ' ')}.")
            return payment, self._try(payment, what)

    def expire(self, reference: str) -> tuple[Payment, Entry]:
        """End a payment that nobody has made, also after its time; refused for one that was made or has ended."""
        with self._lock:
            payment = self._known(reference)
            if payment.paid is not None or any(entry.status == "expired" for entry in payment.entries):
                raise _refused(409, f"The payment is {payment.state.replace('_', ' ')}.")
            return payment, self._try(payment, "expired")

    def refund(self, transaction_id: str, amount_rupiah: int, refund_id: str) -> tuple[Payment, Entry, bool]:
        """Give money of a transaction back, once per `refund_id`; the last tells whether this call did."""
        with self._lock:
            for payment in self._all().values():
                if payment.paid is None or payment.paid.transaction_id != transaction_id:
                    continue
                for entry in payment.entries:
                    if entry.refund_id == refund_id:
                        return payment, entry, False
                return payment, self._give_back(payment, amount_rupiah, refund_id=refund_id), True
        raise _refused(404, "There is no such transaction.")

    def _give_back(self, payment: Payment, amount_rupiah: int, *, refund_id: str) -> Entry:
        left = payment.left_rupiah
        if payment.paid is None or not 0 < amount_rupiah <= left:
            raise _refused(409, f"There are {left} rupiah to give back.")
        status = "refunded" if amount_rupiah == left else "partially_refunded"
        return self._add(payment, payment.paid.transaction_id, status, amount_rupiah, refund_id=refund_id)

    def _try(self, payment: Payment, what: str) -> Entry:
        """Add what came of the transaction that waits for its money, or else of a new one."""
        waiting = payment.waiting
        transaction_id = waiting.transaction_id if waiting else f"trx-{uuid.uuid4().hex[:12]}"
        return self._add(payment, transaction_id, what, payment.amount_rupiah)

    def _add(
        self, payment: Payment, transaction_id: str, status: str, amount_rupiah: int, *, refund_id: str | None = None
    ) -> Entry:
        now = datetime.now(UTC).isoformat()
        entry = Entry(f"evt-{uuid.uuid4()}", transaction_id, status, amount_rupiah, now, refund_id)
        payment.entries.append(entry)
        self._save()
        return entry

    def _known(self, reference: str) -> Payment:
        try:
            return self._all()[reference]
        except KeyError:
            raise _refused(404, "There is no such payment.") from None

    def _all(self) -> dict[str, Payment]:
        if self._payments is None:
            found = json.loads(self._file.read_text()) if self._file.exists() else []
            self._payments = {each["reference"]: _payment(each) for each in found}
        return self._payments

    def _save(self) -> None:
        building = self._file.with_suffix(".tmp")
        building.write_text(json.dumps([asdict(payment) for payment in self._all().values()]))
        building.replace(self._file)


def _payment(saved: dict[str, Any]) -> Payment:
    return Payment(**saved | {"entries": [Entry(**entry) for entry in saved["entries"]]})


def _refused(status: int, detail: str) -> Refused:
    title = "No such payment" if status == 404 else "The gateway refuses"
    return Refused(status, "payment_unknown" if status == 404 else "payment_refused", title, detail)
