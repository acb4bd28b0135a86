"""The gateways that can be asked."""

from collections.abc import Callable, Mapping

from skincare.observability import logger
from skincare.payments.errors import GatewayNotConfigured
from skincare.payments.gateways import GATEWAYS, part
from skincare.payments.ports import GatewayClient, Gateways, SecretStore

_CONNECT: Mapping[str, Callable[[Mapping[str, str], SecretStore], GatewayClient]] = {
    name: part(name, "client").connect for name, settings in GATEWAYS.items() if settings.asked_with
}


def connect(urls: Mapping[str, str], secrets: SecretStore) -> Gateways:
    """Return a client for each gateway whose address is known; nothing is asked before its first use.

    `urls` are those of GATEWAY_URL_<NAME>. Raises `ConfigurationError` for an address that is not safe.
    """
    return {name: make(urls, secrets) for name, make in _CONNECT.items() if urls.get(name)}


def client(gateways: Gateways, name: str) -> GatewayClient:
    """Return who asks a gateway; raises `GatewayNotConfigured`, which an alarm counts."""
    found = gateways.get(name)
    if found is None:
        logger.error("payment.gateway_misconfigured", gateway=name)
        raise GatewayNotConfigured(name, has_client=name in _CONNECT)
    return found
