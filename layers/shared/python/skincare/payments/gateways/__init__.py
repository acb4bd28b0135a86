"""One module per payment gateway, and the list of them."""

from collections.abc import Mapping

from skincare.payments.gateways.doku import Doku
from skincare.payments.gateways.midtrans import Midtrans
from skincare.payments.gateways.standard_webhooks import StandardWebhooks
from skincare.payments.gateways.xendit import Xendit
from skincare.payments.ports import Gateway

GATEWAYS: Mapping[str, Gateway] = {
    gateway.name: gateway for gateway in (StandardWebhooks(), Midtrans(), Xendit(), Doku())
}
"""Every gateway there is, by its name in the path."""
