"""What is set of DOKU."""

from skincare.payments.gateways.settings import GatewaySettings

SETTINGS = GatewaySettings(name="doku", title="DOKU", names_merchant=True)
