"""What is set of a gateway that speaks our own body."""

from skincare.payments.gateways.settings import WEBHOOK_PATH, GatewaySettings

SETTINGS = GatewaySettings(
    name="standard_webhooks",
    title="Our own (Standard Webhooks)",
    asked_with="standard_webhooks",
    urls=("standard_webhooks",),
    webhook_path=WEBHOOK_PATH,
)
