"""How an HTTP API of API Gateway finds the route of a request.

https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-routes.html
A route answers its own method only: not HEAD where there is GET, nor OPTIONS.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

_PARAMETER = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True)
class Route:
    """A route that was found. `key` is its name, as in `GET /v1/products/{sku}`."""

    key: str
    needs_token: bool
    parameters: Mapping[str, str]


class RouteTable:
    """All routes of an API. A path without variables goes before one with them, and a longer one before a shorter."""

    def __init__(self, needs_token: Mapping[str, bool]) -> None:
        """`needs_token` tells for each route key whether the authorizer looks at it."""
        found = sorted(needs_token.items(), key=lambda route: (len(_PARAMETER.findall(route[0])), -len(route[0])))
        self._routes = [(_pattern(key), key, protected) for key, protected in found]

    def find(self, method: str, path: str) -> Route | None:
        """Return the route of a request, None where there is none."""
        for pattern, key, needs_token in self._routes:
            if match := pattern.fullmatch(f"{method} {path}"):
                return Route(key, needs_token, match.groupdict())
        return None


def _pattern(key: str) -> re.Pattern[str]:
    if not re.fullmatch(r"[A-Z]+ /\S*", key) or "+}" in key:
        raise ValueError(f"{key}: a method and a path with single variables")
    # split gives text and the names of variables in turn.
    parts = _PARAMETER.split(key)
    return re.compile(
        "".join(f"(?P<{part}>[^/]+)" if index % 2 else re.escape(part) for index, part in enumerate(parts))
    )
