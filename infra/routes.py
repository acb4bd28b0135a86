"""The routes of the HTTP API, as its OpenAPI document tells them: it is made of the API's own route table."""

import json
from dataclasses import dataclass

from infra.build import ROOT


@dataclass(frozen=True)
class ApiRoute:
    method: str
    path: str
    public: bool
    """No token is asked for."""


def api_routes() -> list[ApiRoute]:
    """Return every route."""
    document = json.loads((ROOT / "docs" / "openapi.json").read_text())
    return [
        ApiRoute(method.upper(), path, public=operation["security"] == [])
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
    ]
