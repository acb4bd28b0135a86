"""Every job type and its handler: one typed line each."""

from skincare.app import App
from skincare.jobs.catalog import SendConfirmationEmail
from skincare.jobs.registry import Registry
from worker.handlers import send_confirmation_email

REGISTRY: Registry[App] = Registry()
REGISTRY.add(SendConfirmationEmail, send_confirmation_email.handle)
