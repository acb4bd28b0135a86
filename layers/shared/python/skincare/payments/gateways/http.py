"""One gateway's HTTP API: JSON in and out, each call once, within seconds, and nothing secret in what it says."""

import base64
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

from skincare.errors import ConfigurationError
from skincare.http_client import HttpClient, NoAnswer, Timeouts
from skincare.observability import logger
from skincare.payments import json_fields
from skincare.payments.deadline import seconds_left, within
from skincare.payments.errors import (
    GatewayMisconfigured,
    GatewayRefused,
    GatewayUnavailable,
    GatewayUnknown,
    ReferenceTaken,
    WebhookMalformed,
)
from skincare.payments.ports import SecretStore

CALL_S = 4.0
"""For a whole call, every key that is tried included: a customer may be waiting, and with the database's share an
answer stays within five seconds."""

TIMEOUTS = Timeouts(connect=timedelta(seconds=1), read=timedelta(seconds=3))

LONGEST_ANSWER = 1_000_000
"""Bytes."""

_LONGEST_URL = 2000

_LOOPBACK = {"127.0.0.1", "localhost", "::1"}
_NOT_LET_IN = {401, 403}
_BUSY = {408, 425, 429}

IsTaken = Callable[[int, Any], bool]
"""Tells from the status and the JSON of a refusal whether it means that the reference is taken."""
StatusInside = Callable[[Any], int | None]
"""Finds the status that stands in the JSON of an answer."""


@dataclass(frozen=True)
class Answer:
    """An answer that is no error; `value` is its JSON, whose numbers are texts as in `payments.json_fields`."""

    status: int
    value: Any = field(repr=False)


class GatewayHttp:
    """Calls one gateway with its key as the user of Basic authentication. Safe to use from many threads."""

    def __init__(
        self,
        gateway: str,
        base_url: str,
        *,
        secrets: SecretStore,
        secret_name: str | None = None,
        status_inside: StatusInside = lambda _: None,
    ) -> None:
        """`secret_name` is the gateway's name in the store of secrets, where that is not `gateway`.

        Raises `ConfigurationError` for an address that is neither https nor on this machine.
        """
        self._gateway = gateway
        origin, self._base_path = _parts(gateway, base_url)
        self._secrets = secrets
        self._secret_name = secret_name or gateway
        self._status_inside = status_inside
        # It resends nothing: a payment that is asked for twice is two payments.
        self._http = HttpClient(origin, timeouts=TIMEOUTS, longest_answer=LONGEST_ANSWER)
        self._let_in_by: str | None = None

    def get(self, path: str) -> Answer | None:
        """Return the answer, None where there is nothing.

        Raises `GatewayUnavailable`, its `GatewayMisconfigured`, and `GatewayRefused`, as every call does.
        """
        return self._call("GET", path, None)

    def post(self, path: str, content: object, *, is_taken: IsTaken = lambda *_: False) -> Answer:
        """Send JSON once and return the answer; raises `ReferenceTaken` where `is_taken` says so."""
        answer = self.post_if_there(path, content, is_taken=is_taken)
        if answer is None:
            raise GatewayRefused(self._gateway, "status 404", status=404)
        return answer

    def post_if_there(self, path: str, content: object, *, is_taken: IsTaken = lambda *_: False) -> Answer | None:
        """Send JSON once and return the answer, None where what the path names is not there."""
        return self._call("POST", path, json.dumps(content).encode(), is_taken=is_taken)

    def page(self, answer: Answer, member: str) -> str:
        """Return the address of a page that a customer may be sent to; raises `GatewayUnavailable`."""
        url = answer.value.get(member) if isinstance(answer.value, dict) else None
        if not isinstance(url, str) or len(url) > _LONGEST_URL or not _is_safe(url):
            raise GatewayUnavailable(self._gateway, f"its answer has no usable {member}")
        return url

    def _call(
        self, method: str, path: str, body: bytes | None, *, is_taken: IsTaken = lambda *_: False
    ) -> Answer | None:
        with within(CALL_S):
            status, content = self._let_in(method, path, body)
        if status >= 500 or status in _BUSY:
            raise GatewayUnavailable(self._gateway, f"status {status}")
        if status == 404:
            return None
        value = _value_of(content)
        if not 200 <= status < 300:
            if is_taken(status, value):
                raise ReferenceTaken(self._gateway)
            raise GatewayRefused(self._gateway, f"status {status}", status=status)
        if value is _UNREADABLE:
            raise GatewayUnavailable(self._gateway, "its answer cannot be read")
        return Answer(status, value)

    def _let_in(self, method: str, path: str, body: bytes | None) -> tuple[int, bytes]:
        """Call with each key that we know until one is taken: a key that is refused was used for nothing.

        While a key is replaced nobody can tell from here which one the gateway knows at this moment.
        """
        status = 0
        for key in self._keys():
            status, content = self._send(method, path, body, key)
            inside = self._status_inside(_value_of(content)) if 200 <= status < 300 else None
            if status not in _NOT_LET_IN and inside not in _NOT_LET_IN:
                self._let_in_by = key
                if 300 <= status < 400:
                    break
                return status, content
            status = inside if inside in _NOT_LET_IN else status
        # An alarm counts this event: nobody can pay, and no refund is sent, until a person fixes it.
        logger.error("payment.gateway_misconfigured", gateway=self._gateway, status=status)
        raise GatewayMisconfigured(self._gateway, f"status {status}")

    def _keys(self) -> Iterator[str]:
        """Give the keys to try: the one that worked last, the others that are known, and those of a fresh look."""
        tried: set[str] = set()
        for fresh in (False, True):
            known = self._known(fresh=fresh)
            for key in sorted(known, key=lambda each: each != self._let_in_by):
                if key not in tried:
                    tried.add(key)
                    yield key

    def _known(self, *, fresh: bool) -> tuple[str, ...]:
        try:
            return tuple(self._secrets.secrets(self._secret_name, fresh=fresh))
        except GatewayUnknown:
            raise ConfigurationError(
                f"the environment variable WEBHOOK_SECRET_ID_{self._secret_name.upper()} is not set"
            ) from None

    def _send(self, method: str, path: str, body: bytes | None, key: str) -> tuple[int, bytes]:
        headers = {
            "accept": "application/json",
            "authorization": "Basic " + base64.b64encode(f"{key}:".encode()).decode(),
        }
        if body is not None:
            headers["content-type"] = "application/json"
        try:
            answer = self._http.send(method, self._base_path + path, body, headers, within=seconds_left())
        except NoAnswer as failed:
            code = failed.code
        else:
            return answer.status, answer.body
        raise GatewayUnavailable(self._gateway, code)


_UNREADABLE = object()


def _value_of(content: bytes) -> Any:
    try:
        return json_fields.parse_any(content)
    except WebhookMalformed:
        return _UNREADABLE


def _is_safe(address: str) -> bool:
    """Tell whether it is https, or on this machine, in characters that everybody sees.

    Line breaks would be dropped in silence here and split a header elsewhere, and some others turn a text around.
    """
    if not (address.isascii() and address.isprintable()) or " " in address or "\\" in address:
        return False
    try:
        url = urlsplit(address)
    except ValueError:
        return False
    return "@" not in url.netloc and (
        (url.scheme == "https" and bool(url.hostname)) or (url.scheme == "http" and url.hostname in _LOOPBACK)
    )


def _parts(gateway: str, base_url: str) -> tuple[str, str]:
    """Return the origin, and the path before those that are called; raises `ConfigurationError`."""
    if not _is_safe(base_url) or "?" in base_url or "#" in base_url:
        raise ConfigurationError(f"GATEWAY_URL_{gateway.upper()} is not an https address")
    url = urlsplit(base_url)
    return f"{url.scheme}://{url.netloc}", url.path.rstrip("/")
