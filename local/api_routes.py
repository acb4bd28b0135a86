"""The routes of the shop's API, from where the deployment reads them too: its OpenAPI document."""

import json

from local.http_routes import RouteTable
from local.settings import ROOT


def api_routes() -> RouteTable:
    """Return every route. One that is new is there after `make openapi`, here as on AWS."""
    document = json.loads((ROOT / "docs" / "openapi.json").read_text())
    return RouteTable(
        {
            f"{method.upper()} {path}": operation["security"] != []
            for path, operations in document["paths"].items()
            for method, operation in operations.items()
        }
    )
