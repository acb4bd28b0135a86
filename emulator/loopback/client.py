"""HTTP to servers on this machine: never through a proxy, whatever the environment says."""

import http.client
import json
import time
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

_TIMEOUT_S = 40


@dataclass(frozen=True)
class Answer:
    """What came back, and how long it took. `body` is the decoded JSON, None where there is none."""

    status: int
    body: Any = field(repr=False)
    seconds: float


class LoopbackClient:
    """Calls one server; with a token as its owner."""

    def __init__(self, url: str, token: str | None = None) -> None:
        self._address = urlsplit(url).netloc
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}

    def get(self, path: str) -> Answer:
        return self.call("GET", path)

    def call(self, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None) -> Answer:
        """Make a call with a JSON body; raises OSError where nobody answers."""
        content = {"Content-Type": "application/json"} if body is not None else {}
        connection = http.client.HTTPConnection(self._address, timeout=_TIMEOUT_S)
        started = time.monotonic()
        try:
            connection.request(method, path, body, {**self._headers, **content, **(headers or {})})
            response = connection.getresponse()
            text = response.read()
        finally:
            connection.close()
        return Answer(response.status, json.loads(text) if text else None, time.monotonic() - started)
