"""The services of others that jobs call: what can be paused as a whole when one of them is down."""

from enum import StrEnum


class Provider(StrEnum):
    """Each job type names those it calls; the values are what people type and what pauses hold: never renamed."""

    SES = "ses"
    """Sends mail."""
    PAYMENT_GATEWAYS = "payment-gateways"
    """All of them: which one a job asks stands in the row that it is about."""
    INVOICE_BUCKET = "invoice-bucket"
