"""What is set of Xendit: the token of its webhooks is not the key of its API."""

from skincare.payments.gateways.settings import GatewaySettings

SETTINGS = GatewaySettings(name="xendit", title="Xendit", asked_with="xendit_api", urls=("xendit",))
