"""Every job type and its handler: one typed line each."""

from skincare.app import App
from skincare.jobs.catalog import ProcessPayment, SendConfirmationEmail
from skincare.jobs.registry import Registry
from worker.handlers import process_payment, send_confirmation_email

REGISTRY: Registry[App] = Registry()
REGISTRY.add(SendConfirmationEmail, send_confirmation_email.handle)
REGISTRY.add(ProcessPayment, process_payment.handle)
