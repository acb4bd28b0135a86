"""The OpenAPI 3.1 document of the API, made from its routes: `python -m api.openapi` prints it."""

import json
import re
import sys
from collections import defaultdict
from typing import Any, Literal

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from api import problems
from api.app import ROUTES
from api.problems import Problem, ProblemType
from api.route import Route

_REFERENCE = "#/components/schemas/{model}"
_REQUEST_ID = {
    "description": "Names the request; quote it when something went wrong.",
    "required": True,
    "schema": {"type": "string"},
}
_RETRY_AFTER = {"description": "Seconds to wait before the next try.", "schema": {"type": "integer", "minimum": 1}}
_LOCATION = {"description": "The path of what was made.", "required": True, "schema": {"type": "string"}}
_IDEMPOTENCY_KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": True,
    "description": "A new value for each order, the same value when a request is repeated.",
    "schema": {"type": "string", "pattern": '^("[!#-+\\-./-~]{1,255}"|[!#-+\\-./-~]{1,255})$'},
}
_PATH_PARAMETERS = {
    "sku": {"type": "string", "description": "A product's stock keeping unit."},
    "order_number": {"type": "string", "description": "As answered when the order was placed: SKN-XXXXX-XXXXX."},
}


def document() -> dict[str, Any]:
    """Return the document as JSON values; the same for the same routes, whatever ran before."""
    paths: defaultdict[str, dict[str, Any]] = defaultdict(dict)
    for route in ROUTES:
        paths[route.path][route.method.lower()] = _operation(route)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Skincare shop",
            "version": "1",
            "description": "Money is whole rupiah. Errors are problem details (RFC 9457) with a stable `code`.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "paths": dict(paths),
        "components": {
            "schemas": _schemas(),
            "securitySchemes": {"customer": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"}},
        },
    }


def _operation(route: Route[Any, Any]) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": route.handle.__name__,
        "summary": route.handle.__name__.replace("_", " ").capitalize(),
        "security": [] if route.public else [{"customer": []}],
        "parameters": _parameters(route),
        "responses": {str(route.status): _success(route), **_failures(route)},
    }
    if route.body is not None:
        operation["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": _reference(route.body)}},
        }
    return operation


def _parameters(route: Route[Any, Any]) -> list[dict[str, Any]]:
    parameters: list[dict[str, Any]] = [
        {"name": name, "in": "path", "required": True, "schema": _PATH_PARAMETERS[name]}
        for name in re.findall(r"{(\w+)}", route.path)
    ]
    if route.query is not None:
        properties = route.query.model_json_schema()["properties"]
        parameters += [
            {"name": name, "in": "query", "required": False, "schema": _plain(schema)}
            for name, schema in properties.items()
        ]
    if problems.IDEMPOTENCY_KEY_MISSING in route.all_problems:
        parameters.append(_IDEMPOTENCY_KEY)
    return parameters


def _plain(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a query field: absent is how a query says null."""
    if "anyOf" in schema:
        (schema,) = [option for option in schema["anyOf"] if option != {"type": "null"}]
    return {name: value for name, value in schema.items() if name not in {"title", "default"} or value is not None}


def _success(route: Route[Any, Any]) -> dict[str, Any]:
    headers: dict[str, Any] = {"x-request-id": _REQUEST_ID}
    if route.status == 201:
        headers["location"] = _LOCATION
    return {
        "description": "Done.",
        "headers": headers,
        "content": {"application/json": {"schema": _reference(route.answer)}},
    }


def _failures(route: Route[Any, Any]) -> dict[str, Any]:
    by_status: defaultdict[int, list[ProblemType]] = defaultdict(list)
    for kind in sorted(route.all_problems, key=lambda each: (each.status, each.code)):
        by_status[kind.status].append(kind)
    return {str(status): _failure(kinds) for status, kinds in by_status.items()}


def _failure(kinds: list[ProblemType]) -> dict[str, Any]:
    headers: dict[str, Any] = {"x-request-id": _REQUEST_ID}
    if {problems.UNAVAILABLE, problems.CONCURRENT_REQUEST} & set(kinds):
        headers["retry-after"] = _RETRY_AFTER
    code = {"properties": {"code": {"enum": [kind.code for kind in kinds]}}}
    return {
        "description": " ".join(f"`{kind.code}`: {kind.detail}" for kind in kinds),
        "headers": headers,
        "content": {problems.CONTENT_TYPE: {"schema": {"allOf": [_reference(Problem), code]}}},
    }


def _schemas() -> dict[str, Any]:
    models: dict[type[BaseModel], Literal["validation", "serialization"]] = {Problem: "serialization"}
    for route in ROUTES:
        models[route.answer] = "serialization"
        if route.body is not None:
            models[route.body] = "validation"
    _, definitions = models_json_schema(list(models.items()), ref_template=_REFERENCE)
    schemas: dict[str, Any] = definitions["$defs"]
    return dict(sorted(schemas.items()))


def _reference(model: type[BaseModel]) -> dict[str, str]:
    return {"$ref": _REFERENCE.format(model=model.__name__)}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(document(), indent=2, ensure_ascii=False) + "\n")
