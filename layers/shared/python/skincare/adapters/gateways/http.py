"""One gateway's HTTP API: JSON in and out, each call once, within seconds, and nothing secret in what it says."""

import base64
import json
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from skincare.errors import ConfigurationError
from skincare.payments import members
from skincare.payments.errors import GatewayRefused, GatewayUnavailable, GatewayUnknown, WebhookMalformed
from skincare.payments.ports import SecretStore

if TYPE_CHECKING:
    from urllib3 import PoolManager

CONNECT_S = 1.0
READ_S = 3.0
"""A customer may be waiting: with the database's share an answer stays within five seconds."""

LONGEST_ANSWER = 1_000_000
"""Bytes."""

_LONGEST_URL = 2000

_LOOPBACK = {"127.0.0.1", "localhost", "::1"}
_UNAUTHORIZED = 401
_BUSY = {408, 425, 429}


@dataclass(frozen=True)
class Answer:
    """An answer that is no error; `value` is its JSON, whose numbers are texts as in `payments.members`."""

    status: int
    value: Any = field(repr=False)


class GatewayHttp:
    """Calls one gateway with its key as the user of Basic authentication. Safe to use from many threads."""

    def __init__(self, gateway: str, base_url: str, *, secrets: SecretStore, secret_name: str | None = None) -> None:
        """`secret_name` is the gateway's name in the store of secrets, where that is not `gateway`.

        Raises `ConfigurationError` for an address that is neither https nor on this machine.
        """
        self._gateway = gateway
        self._base_url = _checked(gateway, base_url)
        self._secrets = secrets
        self._secret_name = secret_name or gateway
        self._lock = threading.Lock()
        self._pool: PoolManager | None = None

    def get(self, path: str) -> Answer | None:
        """Return the answer, None where there is nothing; raises `GatewayUnavailable` and `GatewayRefused`."""
        return self._call("GET", path, None)

    def post(self, path: str, content: object) -> Answer:
        """Send JSON once and return the answer; raises `GatewayUnavailable` and `GatewayRefused`."""
        answer = self._call("POST", path, json.dumps(content).encode())
        if answer is None:
            raise GatewayRefused(self._gateway, "status 404")
        return answer

    def page(self, answer: Answer, member: str) -> str:
        """Return the address of a page that a customer may be sent to; raises `GatewayUnavailable`."""
        url = answer.value.get(member) if isinstance(answer.value, dict) else None
        if not isinstance(url, str) or len(url) > _LONGEST_URL or not _is_safe(url):
            raise GatewayUnavailable(self._gateway, f"its answer has no usable {member}")
        return url

    def _call(self, method: str, path: str, body: bytes | None) -> Answer | None:
        key = self._key()
        status, content = self._send(method, path, body, key)
        if status == _UNAUTHORIZED:
            # Refused before anything was done; the key may have been replaced since we looked.
            renewed = self._key(fresh=True)
            if renewed != key:
                status, content = self._send(method, path, body, renewed)
        if status >= 500 or status in _BUSY:
            raise GatewayUnavailable(self._gateway, f"status {status}")
        if status == 404:
            return None
        if not 200 <= status < 300:
            raise GatewayRefused(self._gateway, f"status {status}")
        try:
            return Answer(status, members.parse_any(content))
        except WebhookMalformed:
            raise GatewayUnavailable(self._gateway, "its answer cannot be read") from None

    def _key(self, *, fresh: bool = False) -> str:
        try:
            return self._secrets.secrets(self._secret_name, fresh=fresh)[0]
        except GatewayUnknown:
            raise ConfigurationError(
                f"the environment variable WEBHOOK_SECRET_ID_{self._secret_name.upper()} is not set"
            ) from None

    def _send(self, method: str, path: str, body: bytes | None, key: str) -> tuple[int, bytes]:
        from urllib3.exceptions import HTTPError

        headers = {
            "accept": "application/json",
            "authorization": "Basic " + base64.b64encode(f"{key}:".encode()).decode(),
        }
        if body is not None:
            headers["content-type"] = "application/json"
        try:
            response = self._pooled().request(
                method, self._base_url + path, body=body, headers=headers, preload_content=False
            )
            try:
                content = response.read(LONGEST_ANSWER + 1, decode_content=True)
            finally:
                # One that was read to its end went back to the pool.
                response.close()
        except HTTPError as error:
            # Its message may quote the request.
            raise GatewayUnavailable(self._gateway, type(error).__name__) from None
        if len(content) > LONGEST_ANSWER:
            raise GatewayUnavailable(self._gateway, "its answer is too long")
        return response.status, content

    def _pooled(self) -> "PoolManager":
        # Loaded here for the cold start.
        from urllib3 import PoolManager, Timeout

        with self._lock:
            if self._pool is None:
                # Certificates are verified by default. A payment that is asked for twice is two payments: no retries.
                # A redirect would take the key to whoever the answer names.
                self._pool = PoolManager(timeout=Timeout(connect=CONNECT_S, read=READ_S), retries=False)
            return self._pool


def _is_safe(address: str) -> bool:
    """Tell whether it is https, or on this machine."""
    try:
        url = urlsplit(address)
    except ValueError:
        return False
    return "@" not in url.netloc and (
        (url.scheme == "https" and bool(url.hostname)) or (url.scheme == "http" and url.hostname in _LOOPBACK)
    )


def _checked(gateway: str, base_url: str) -> str:
    if not _is_safe(base_url) or "?" in base_url or "#" in base_url:
        raise ConfigurationError(f"GATEWAY_URL_{gateway.upper()} is not an https address")
    return base_url.rstrip("/")
