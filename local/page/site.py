"""What `/_local/` answers: static files, the state of the system, and a token for whoever a person wants to be."""

import hmac
import json
import secrets
from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

from werkzeug import Request, Response
from werkzeug.exceptions import ClientDisconnected, RequestEntityTooLarge

from emulator.gateway.problems import Refused, malformed, too_large
from emulator.gateway.tokens import TokenIssuer
from skincare.addresses import parse_email
from skincare.errors import InvalidInput
from skincare.locales import Locale

PAGE = "/_local/"
STATE = "/_local/state"
TOKEN = "/_local/token"  # noqa: S105  a path

CSRF_HEADER = "X-CSRF-Token"
"""A page elsewhere can send a request here, but neither this header nor read the value it must have."""

type Action = Callable[[dict[str, Any]], Any]
"""Takes the JSON object of a request and returns what is answered; raises `Refused`."""

_TOKEN_LIFE = timedelta(hours=1)
_LARGEST_BODY = 4096
_LARGEST_ACTION = 16_384
"""A redrive names up to a hundred dead letters."""
_NO_OBJECT = "Send a JSON object."
_STATIC = Path(__file__).parent / "static"
STATIC_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
}
STATIC_HEADERS = {
    # Mails carry their styles on their elements, and a frame made of text obeys the policy of the page around it.
    "Content-Security-Policy": (
        "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; object-src 'none'; "
        "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    ),
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


class CsrfToken:
    """Proves that a request comes from our own page: only it can read the value."""

    def __init__(self) -> None:
        self.value = secrets.token_urlsafe(32)

    def check(self, request: Request) -> None:
        """Raise `Refused` for a request of somebody else."""
        sent = request.headers.get(CSRF_HEADER, "")
        if not hmac.compare_digest(sent.encode(), self.value.encode()):
            raise Refused(403, "forbidden", "Forbidden", "Only the page of this system may ask; load it again.")


class Site:
    """Answers requests that the gateway found to come from this machine under a name of this machine."""

    def __init__(
        self,
        *,
        tokens: TokenIssuer,
        state: Callable[[], Mapping[str, Any]],
        actions: Mapping[str, Action] | None = None,
        files_origin: str | None = None,
        csrf: CsrfToken | None = None,
    ) -> None:
        """`actions` are what a POST to each path does; `files_origin` is from where invoices may be fetched.

        `csrf` is shared by all pages of a system.
        """
        self._tokens = tokens
        self._state = state
        self._actions = actions or {}
        self._headers = dict(STATIC_HEADERS)
        if files_origin:
            self._headers["Content-Security-Policy"] += f"; connect-src 'self' {files_origin}"
        self._csrf = csrf or CsrfToken()
        self._files = {PAGE if file.name == "index.html" else PAGE + file.name: file for file in _STATIC.iterdir()}

    def answer(self, request: Request) -> Response | None:
        """Return the answer, None where there is nothing at this path; raises `Refused`."""
        response = self._answer(request)
        if response is not None:
            response.headers.update(self._headers)
        return response

    def _answer(self, request: Request) -> Response | None:
        reads = request.method in {"GET", "HEAD"}
        if reads and (file := self._files.get(request.path)):
            return Response(file.read_bytes(), content_type=STATIC_TYPES[file.suffix])
        if reads and request.path == STATE:
            return _json({"csrf_token": self._csrf.value, **self._state()})
        if request.method == "POST" and request.path == TOKEN:
            return self._token(request)
        if request.method == "POST" and (act := self._actions.get(request.path)):
            self._csrf.check(request)
            return _json(act(json_body(request, limit=_LARGEST_ACTION)))
        return None

    def _token(self, request: Request) -> Response:
        """Sign in as anybody: {"email", "locale"} becomes a token like those of the identity provider."""
        self._csrf.check(request)
        body = json_body(request)
        try:
            email = parse_email(_string(body, "email"))
            locale = _locale(_string(body, "locale"))
        except InvalidInput as error:
            raise Refused(
                422, "validation_failed", "The request is invalid", f"The {error.field} {error.message}."
            ) from error
        token = self._tokens.issue(str(email), locale=locale, expires_in=_TOKEN_LIFE)
        return _json({"token": token, "email": str(email), "locale": locale.value})


def json_body(request: Request, *, limit: int = _LARGEST_BODY) -> dict[str, Any]:
    """Return the JSON object of a request of at most `limit` bytes; raises `Refused`."""
    request.max_content_length = limit
    try:
        body = json.loads(request.get_data())
    except RequestEntityTooLarge as error:
        raise too_large(limit) from error
    except (ClientDisconnected, OSError, ValueError, RecursionError) as error:
        raise malformed(_NO_OBJECT) from error
    if not isinstance(body, dict):
        raise malformed(_NO_OBJECT)
    return body


def _string(body: dict[str, Any], name: str) -> str:
    value = body.get(name)
    if not isinstance(value, str):
        raise InvalidInput(name, "must be text")
    return value


def _locale(text: str) -> Locale:
    try:
        return Locale(text)
    except ValueError:
        raise InvalidInput("locale", f"must be one of {', '.join(Locale)}") from None


def _json(value: Any) -> Response:
    return Response(json.dumps(value, ensure_ascii=False), content_type="application/json")
