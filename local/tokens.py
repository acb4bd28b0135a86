"""Tokens of the shop's customers, as its identity provider would sign them."""

from collections.abc import Mapping
from typing import Any

from emulator.gateway.tokens import TokenIssuer

ISSUER = "https://identity.example.com/skincare-local"
AUDIENCE = "skincare-local"


def token_issuer(signing_key: Mapping[str, Any]) -> TokenIssuer:
    """Return what signs and checks them; the key is the system's own."""
    return TokenIssuer(signing_key, issuer=ISSUER, audience=AUDIENCE)
