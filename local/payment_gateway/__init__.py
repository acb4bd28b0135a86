"""A small payment gateway of our own: an API for the shop, a page for its customer, signed webhooks. Never deployed."""

from local.payment_gateway.site import PaymentSite

__all__ = ["PaymentSite"]
