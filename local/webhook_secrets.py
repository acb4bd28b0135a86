"""The secrets that the local system shares with pretended payment gateways."""

import base64
import hashlib
import hmac
from typing import TYPE_CHECKING

from local.settings import PAYMENT_GATEWAYS
from local.state import Secrets
from skincare.payments.gateways import GATEWAYS
from skincare.payments.gateways.samples import sample

if TYPE_CHECKING:
    from types_boto3_secretsmanager import SecretsManagerClient


def secret_id(gateway: str) -> str:
    """Return the name of a gateway's secret in Secrets Manager."""
    return f"webhooks/{gateway}"


def secret_names() -> list[str]:
    """Return what has a secret: each gateway, and the API of one that has a key of its own for it."""
    return [name for each in GATEWAYS.values() for name in each.secrets]


def secret_ids() -> dict[str, str]:
    """Return the variables that tell the functions where the secrets are."""
    return {f"WEBHOOK_SECRET_ID_{name.upper()}": secret_id(name) for name in secret_names()}


def api_keys(secrets: Secrets) -> dict[str, str]:
    """Return by gateway what the shop calls its API with."""
    return {name: webhook_secret(secrets, GATEWAYS[name].asked_with or name) for name in PAYMENT_GATEWAYS}


def webhook_secret(secrets: Secrets, gateway: str) -> str:
    """Return a gateway's secret: the same as long as the state folder lives, and in no file of its own."""
    key = hmac.digest(secrets.app_password.encode(), f"webhooks of {gateway}".encode(), hashlib.sha256)
    text = base64.b64encode(key).decode()
    return sample(gateway).key_prefix + text if gateway in GATEWAYS else text


def create_secrets(client: "SecretsManagerClient", contents: dict[str, str]) -> None:
    """Create secrets by name."""
    for name, content in contents.items():
        client.create_secret(Name=name, SecretString=content)
