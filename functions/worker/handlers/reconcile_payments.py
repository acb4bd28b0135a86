"""Handles `reconcile_payments`."""

from skincare.app import App
from skincare.jobs.catalog import ReconcilePayments
from skincare.payments.errors import ReconciliationUnfinished
from skincare.payments.reconciliation.service import ask_gateways, check


def handle(payload: ReconcilePayments, app: App) -> None:  # noqa: ARG001  a periodic job has an empty payload
    """Hold orders, payments and what gateways say against each other; without time for all, the next try goes on."""
    if not check(app.database).finished:
        raise ReconciliationUnfinished
    ask_gateways(database=app.database, gateways=app.gateways, publisher=app.publisher)
