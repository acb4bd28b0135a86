"""Every job type and its handler: one typed line each."""

from skincare.app import App
from skincare.jobs.catalog import GenerateInvoicePdf, ProcessPayment, SendConfirmationEmail, SendPaymentReceivedEmail
from skincare.jobs.registry import Registry
from worker.handlers import (
    generate_invoice_pdf,
    process_payment,
    send_confirmation_email,
    send_payment_received_email,
)

REGISTRY: Registry[App] = Registry()
REGISTRY.add(SendConfirmationEmail, send_confirmation_email.handle)
REGISTRY.add(ProcessPayment, process_payment.handle)
REGISTRY.add(SendPaymentReceivedEmail, send_payment_received_email.handle)
REGISTRY.add(GenerateInvoicePdf, generate_invoice_pdf.handle)
