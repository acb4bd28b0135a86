"""Handles `process_payment`."""

from collections.abc import Sequence
from uuid import UUID

from skincare.app import App
from skincare.database.connection import Connection
from skincare.jobs.catalog import ProcessPayment
from skincare.jobs.registry import Handled
from skincare.payments.full_payments.service import apply_full_payments
from skincare.payments.models import EventId
from skincare.payments.service import apply_event


def handle(payload: ProcessPayment, app: App) -> None:
    """Apply a payment event."""
    apply_event(EventId(UUID(payload.event_id)), database=app.database, gateways=app.gateways, publisher=app.publisher)


def handle_many(conn: Connection, payloads: Sequence[ProcessPayment]) -> Handled[ProcessPayment]:
    """Apply the events that pay an order in full; the others may need their gateway's word, or a person's."""
    wanted = {EventId(UUID(payload.event_id)): payload for payload in payloads}
    applied = apply_full_payments(conn, wanted)
    done = {payment.stored.event.event_id for payment in applied.payments}
    return Handled(
        left=[payload for event_id, payload in wanted.items() if event_id not in done],
        set_off=applied.jobs,
        lines=[payment.line for payment in applied.payments],
    )
