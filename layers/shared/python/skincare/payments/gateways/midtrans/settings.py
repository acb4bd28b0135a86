"""What is set of Midtrans."""

from skincare.payments.gateways.settings import GatewaySettings

SETTINGS = GatewaySettings(
    name="midtrans", title="Midtrans", asked_with="midtrans", urls=("midtrans", "midtrans_snap"), names_merchant=True
)
