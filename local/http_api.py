"""The shop's HTTP API as the local API gateway sees it, read from the source that the deployment reads."""

import json

from emulator.gateway.cors import Cors
from emulator.gateway.http_api import HttpApi
from emulator.gateway.routes import RouteTable
from local.settings import ROOT
from skincare.deployment.http import HTTP


def http_api() -> HttpApi:
    """Return the routes with their limits and cross-origin rules."""
    return HttpApi(
        routes=api_routes(),
        cors=Cors(
            allow_origins=HTTP.cors.allow_origins,
            allow_methods=HTTP.cors.allow_methods,
            allow_headers=HTTP.cors.allow_headers,
            expose_headers=HTTP.cors.expose_headers,
            max_age=HTTP.cors.max_age,
        ),
        urn="urn:skincare",
        max_body_bytes=HTTP.gateway_max_body_bytes,
        max_head_bytes=HTTP.gateway_max_head_bytes,
        integration_timeout=HTTP.integration_timeout,
    )


def api_routes() -> RouteTable:
    """Return every route of the OpenAPI document. One that is new is there after `make openapi`, here as on AWS."""
    document = json.loads((ROOT / "docs" / "openapi.json").read_text())
    return RouteTable(
        {
            f"{method.upper()} {path}": operation["security"] != []
            for path, operations in document["paths"].items()
            for method, operation in operations.items()
        }
    )
