"""The gateways that can be asked."""

from collections.abc import Mapping

from skincare.observability import logger
from skincare.payments.errors import GatewayNotConfigured
from skincare.payments.gateways import GATEWAYS, part
from skincare.payments.ports import GatewayClient, Gateways, SecretStore


def connect(urls: Mapping[str, str], secrets: SecretStore) -> Gateways:
    """Return a client for each gateway whose address is known; nothing is asked before its first use.

    `urls` are those of GATEWAY_URL_<NAME>; the code of the others is not even loaded. Raises `ConfigurationError` for
    an address that is not safe.
    """
    asked = [name for name, settings in GATEWAYS.items() if settings.asked_with and urls.get(name)]
    return {name: part(name, "client").connect(urls, secrets) for name in asked}


def client(gateways: Gateways, name: str) -> GatewayClient:
    """Return who asks a gateway; raises `GatewayNotConfigured`, which an alarm counts."""
    found = gateways.get(name)
    if found is None:
        logger.error("payment.gateway_misconfigured", gateway=name)
        raise GatewayNotConfigured(name, has_client=name in GATEWAYS and GATEWAYS[name].asked_with is not None)
    return found
