"""Handles `process_payment`."""

from uuid import UUID

from skincare.app import App
from skincare.jobs.catalog import ProcessPayment
from skincare.payments.models import EventId
from skincare.payments.service import apply_event


def handle(payload: ProcessPayment, app: App) -> None:
    """Apply a payment event."""
    apply_event(EventId(UUID(payload.event_id)), database=app.database, gateways=app.gateways, publisher=app.publisher)
