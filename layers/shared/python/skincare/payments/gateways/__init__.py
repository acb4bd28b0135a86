"""One folder per payment gateway, and the list of them. Needs no package: the deployment reads it too.

A folder has `settings.py` and `webhook.py`, `sample.py` with what the local system sends in its name and, where the
gateway can be asked, `client.py`.
"""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from skincare.payments.gateways.settings import GatewaySettings

_FOLDERS = (
    "standard_webhooks",
    "midtrans",
    "xendit",
    "doku",
)


def part(gateway: str, module: str) -> Any:
    """Return a module of a gateway's folder."""
    return import_module(f"{__name__}.{gateway}.{module}")


GATEWAYS: Mapping[str, GatewaySettings] = {name: part(name, "settings").SETTINGS for name in _FOLDERS}
"""The settings of every gateway there is, by its name in the path of its webhook."""
