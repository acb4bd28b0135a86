"""The routes of the HTTP API, as its OpenAPI document tells them: it is made of the API's own route table."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_DOCS = Path(__file__).resolve().parents[1] / "docs"


@dataclass(frozen=True)
class ApiRoute:
    method: str
    path: str
    public: bool
    """No token is asked for."""
    statuses: tuple[int, ...]
    """Those of success."""
    summary: str


def api_routes() -> list[ApiRoute]:
    """Return every route."""
    paths = json.loads((_DOCS / "openapi.json").read_text())["paths"]
    return [_route(method, path, each) for path, operations in paths.items() for method, each in operations.items()]


def _route(method: str, path: str, operation: dict[str, Any]) -> ApiRoute:
    return ApiRoute(
        method.upper(),
        path,
        public=operation["security"] == [],
        statuses=tuple(int(status) for status in operation["responses"] if status < "400"),
        summary=operation["summary"],
    )
