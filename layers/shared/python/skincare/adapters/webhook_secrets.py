"""The signing secrets of payment gateways, from AWS Secrets Manager."""

import json
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from skincare.adapters.aws import AwsSession, Timeouts
from skincare.observability import logger
from skincare.payments.errors import GatewayUnknown, SecretsUnavailable

if TYPE_CHECKING:
    from types_boto3_secretsmanager import SecretsManagerClient

# With a fresh look and the database's own limits an answer stays within three seconds.
_TIMEOUTS = Timeouts(connect=timedelta(seconds=0.3), read=timedelta(seconds=0.7))

# A secret that is taken back stops working this soon.
_KEPT_FOR_S = 300.0
# Whoever sends forgeries makes us look no more often than this.
_FRESH_FOR_S = 10.0

_LONGEST = 512


@dataclass(frozen=True)
class _Known:
    secrets: tuple[str, ...] = field(repr=False)
    read_at: float


class SecretsManagerWebhookSecrets:
    """Matches `skincare.payments.ports.SecretStore`.

    A gateway's secret is the JSON object `{"secrets": ["…"]}`, with several entries while one replaces the
    other. While Secrets Manager does not answer, what is known goes on.
    """

    def __init__(
        self, secret_ids: Mapping[str, str], *, aws: AwsSession, clock: Callable[[], float] = time.time
    ) -> None:
        """`secret_ids` names the secret of each gateway; `clock` gives seconds, also while a container is frozen."""
        self._secret_ids = secret_ids
        self._aws = aws
        self._clock = clock
        self._lock = threading.Lock()
        self._known: dict[str, _Known] = {}

    def secrets(self, gateway: str, *, fresh: bool = False) -> tuple[str, ...]:
        """Return the valid secrets; `fresh` looks again unless somebody just did.

        Raises `GatewayUnknown` and `SecretsUnavailable`.
        """
        secret_id = self._secret_ids.get(gateway)
        if secret_id is None:
            raise GatewayUnknown
        with self._lock:
            known = self._known.get(gateway)
            if known is not None and 0 <= self._clock() - known.read_at < (_FRESH_FOR_S if fresh else _KEPT_FOR_S):
                return known.secrets
            try:
                found = _secrets_in(gateway, self._read(gateway, secret_id))
            except SecretsUnavailable as error:
                if known is None:
                    raise
                logger.warning("payment.secrets_outdated", gateway=gateway, error=str(error))
                found = known.secrets
            self._known[gateway] = _Known(found, self._clock())
            return found

    def _read(self, gateway: str, secret_id: str) -> str | None:
        # Loaded here for the cold start; both are parts of boto3.
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            client: SecretsManagerClient = self._aws.client("secretsmanager", _TIMEOUTS)
            return client.get_secret_value(SecretId=secret_id).get("SecretString")
        except ClientError as error:
            raise SecretsUnavailable(gateway, error.response.get("Error", {}).get("Code", "unknown")) from error
        except BotoCoreError as error:
            raise SecretsUnavailable(gateway, type(error).__name__) from error


def _secrets_in(gateway: str, content: str | None) -> tuple[str, ...]:
    """Return the entries of a secret. Errors quote nothing of it, nor do their causes."""
    try:
        value: Any = json.loads(content or "")
    except ValueError:
        raise SecretsUnavailable(gateway, "the secret is not JSON") from None
    entries = value.get("secrets") if isinstance(value, dict) else None
    if not isinstance(entries, list) or not entries or not all(map(_is_usable, entries)):
        raise SecretsUnavailable(gateway, "the secret has no usable list of secrets")
    return tuple(entries)


def _is_usable(entry: object) -> bool:
    return isinstance(entry, str) and 1 <= len(entry) <= _LONGEST and entry.isascii() and entry.isprintable()
