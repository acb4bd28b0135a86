"""What a gateway that is asked about its webhooks must know beforehand: the attempt, and what happened to it."""

from emulator.gateway.problems import Refused
from local.payment_gateway.payment_store import Entry, PaymentStore
from local.repository import lock_order
from skincare.database.connection import Database
from skincare.identifiers import OrderNumber
from skincare.payments.attempts import repository as attempts
from skincare.payments.gateways.samples import Occurrence
from skincare.payments.models import Attempt


class Occurrences:
    """Lets things happen at the gateways of a book, about any order of the shop."""

    def __init__(self, store: PaymentStore, database: Database) -> None:
        self._store = store
        self._database = database

    def note(self, gateway: str, what: Occurrence) -> Occurrence:
        """Let the gateway know of an occurrence; return it as that gateway calls it, by the attempt's reference.

        A payment that the shop never started there is started. Raises `Refused` for an order that is not there, and
        for one whose end is too near.
        """
        attempt = self._attempt(gateway, what.order_number)
        self._store.open(attempt.reference, attempt.amount_rupiah, attempt.expires_at.isoformat(), gateway=gateway)
        self._store.note(attempt.reference, _entry(what))
        return what.about(attempt.reference, total_rupiah=attempt.amount_rupiah)

    def _attempt(self, gateway: str, order_number: str) -> Attempt:
        with self._database.connection() as conn, conn.transaction():
            order_id = lock_order(conn, OrderNumber(order_number))
            if order_id is None:
                raise Refused(404, "order_unknown", "No such order", "There is no order of this number.")
            if known := attempts.of_order(conn, order_number, gateway=gateway):
                return known[0]
            started = attempts.open_next(conn, order_id, gateway=gateway)
            if started is None:
                raise Refused(
                    409, "order_not_payable", "Too late", "The order's time to be paid is over, or nearly so."
                )
            return started.attempt


def _entry(what: Occurrence) -> Entry:
    return Entry(
        event_id=what.event_id,
        transaction_id=what.transaction_id,
        status=what.status,
        amount_rupiah=what.amount_rupiah,
        occurred_at=what.occurred_at.isoformat(),
        refund_id=what.refund_key,
        fee_rupiah=what.fee_rupiah,
    )
