"""Every job type and its handler: one typed line each."""

from skincare.app import App
from skincare.jobs.catalog import ExpireOrder, ProcessPayment, ReconcilePayments, SendConfirmationEmail, SendRefund
from skincare.jobs.registry import Registry
from worker.handlers import (
    expire_order,
    process_payment,
    reconcile_payments,
    send_confirmation_email,
    send_refund,
)

REGISTRY: Registry[App] = Registry()
REGISTRY.add(SendConfirmationEmail, send_confirmation_email.handle)
REGISTRY.add(ProcessPayment, process_payment.handle)
REGISTRY.add(ExpireOrder, expire_order.handle)
REGISTRY.add(SendRefund, send_refund.handle)
REGISTRY.add(ReconcilePayments, reconcile_payments.handle)
