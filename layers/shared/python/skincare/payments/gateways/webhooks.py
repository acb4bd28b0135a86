"""Who reads the webhooks of each gateway."""

from collections.abc import Mapping

from skincare.payments.gateways import GATEWAYS, part
from skincare.payments.ports import Gateway

READERS: Mapping[str, Gateway] = {name: part(name, "webhook").READER for name in GATEWAYS}
"""By the gateway's name."""
