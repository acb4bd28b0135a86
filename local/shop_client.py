"""A customer of the local shop, over HTTP."""

import json
import time
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from typing import Any

_TIMEOUT_S = 30


@dataclass(frozen=True)
class Answer:
    """What came back, and how long it took."""

    status: int
    body: Any = field(repr=False)
    seconds: float


class ShopClient:
    """Calls the API of one shop; `token` None is a visitor."""

    def __init__(self, url: str, token: str | None = None) -> None:
        self._url = url
        self._token = token

    def get(self, path: str) -> Answer:
        return self._call("GET", path, None)

    def put_in_cart(self, sku: str, quantity: int) -> Answer:
        return self._call("PUT", f"/v1/cart/items/{sku}", json.dumps({"quantity": quantity}).encode())

    def order(self, idempotency_key: str, body: bytes = b"{}") -> Answer:
        """Check the cart out; `body` is sent as it is."""
        return self._call("POST", "/v1/orders", body, {"Idempotency-Key": idempotency_key})

    def _call(self, method: str, path: str, body: bytes | None, headers: dict[str, str] | None = None) -> Answer:
        request = urllib.request.Request(self._url + path, data=body, method=method, headers=headers or {})  # noqa: S310
        if self._token:
            request.add_header("Authorization", f"Bearer {self._token}")
        if body is not None:
            request.add_header("Content-Type", "application/json")
        started = time.monotonic()
        try:
            with urllib.request.urlopen(request, timeout=_TIMEOUT_S) as response:  # noqa: S310  our own loopback address
                status, text = response.status, response.read()
        except urllib.error.HTTPError as error:
            with error:
                status, text = error.code, error.read()
        return Answer(status, json.loads(text) if text else None, time.monotonic() - started)
