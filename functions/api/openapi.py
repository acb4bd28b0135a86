"""The OpenAPI 3.1 document of the API, made from its routes: `python -m api.openapi` prints it."""

import inspect
import json
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any, Literal

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, models_json_schema
from pydantic_core import core_schema

from api import problems
from api.app import ROUTES
from api.headers import IDEMPOTENCY_KEY_PATTERN
from api.problem import CONTENT_TYPE, ProblemType
from api.route import Route
from skincare.payments.gateways import GATEWAYS
from skincare.payments.gateways.settings import WEBHOOK_PATH
from skincare.text import ONE_LINE_PATTERN

_REFERENCE = "#/components/schemas/{model}"

_DESCRIPTION = """\
Money is whole rupiah, times are UTC.

Errors are problem details (RFC 9457): decide by their stable `code`. A path that is not listed here, or another
method, is a 404 of the gateway, with or without a token. Two problems belong to no operation, for who reaches the API
past its gateway: `route_unknown` (404) and `method_not_allowed` (405, with the header `Allow`).

Some errors are given by the gateway before the API is asked. On AWS those are a `GatewayMessage` without
`X-Request-Id`."""

_HEADERS: dict[str, dict[str, Any]] = {
    "x-request-id": {
        "description": "Names the request; quote it when something went wrong.",
        "schema": {"type": "string"},
    },
    "retry-after": {
        "description": "Seconds to wait before the next try.",
        "schema": {"type": "integer", "minimum": 1},
    },
    "location": {"description": "Where to find what was made or asked for.", "schema": {"type": "string"}},
    "cache-control": {"description": "Whether the answer may be kept.", "schema": {"type": "string"}},
    "www-authenticate": {"description": "The scheme of the token.", "schema": {"type": "string"}},
    "allow": {"description": "The methods that the path answers to.", "schema": {"type": "string"}},
}

_ALWAYS = {"location", "cache-control"}

_GATEWAY_MESSAGE = "GatewayMessage"
_GATEWAY_STATUSES = {401, 413, 500, 503}
_THROTTLED = 429

_IDEMPOTENCY_KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": True,
    "description": (
        "A new value for each order, the same value when a request is repeated: a value that has led to an order "
        "answers that order, whatever is in the cart now. Bare or in double quotes."
    ),
    "schema": {"type": "string", "pattern": IDEMPOTENCY_KEY_PATTERN},
}


def _gateways() -> str:
    *others, last = (name for name, each in GATEWAYS.items() if each.webhook_path == f"{WEBHOOK_PATH}/{name}")
    return f"{', '.join(others)} or {last}"


_PATH_PARAMETERS = {
    "sku": "A product's stock keeping unit.",
    "gateway": f"A payment gateway: {_gateways()}.",
    "order_number": (
        "As answered when the order was placed: SKN-XXXXX-XXXXX. Case, blanks and hyphens do not matter; O is read as "
        "0, I and L as 1, and SKN may be left out."
    ),
}


class _Plain(GenerateJsonSchema):
    """Leaves out what tells nothing: the title of a field repeats its name, and null is what absent means anyway."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002  pydantic's signature
        return False

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> dict[str, Any]:
        if schema.get("default", ...) is None:
            return self.generate_inner(schema["schema"])
        return super().default_schema(schema)


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
            "description": _DESCRIPTION,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "paths": dict(paths),
        "components": {
            "schemas": _schemas(),
            "responses": {
                _pascal(kind.code): _failure([kind], by_gateway=False)
                for kind in (problems.ROUTE_UNKNOWN, problems.METHOD_NOT_ALLOWED)
            },
            "securitySchemes": {"customer": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"}},
        },
    }


def _operation(route: Route[Any, Any]) -> dict[str, Any]:
    summary, _, description = (inspect.getdoc(route.handle) or "").partition("\n")
    operation: dict[str, Any] = {
        "operationId": route.handle.__name__,
        "tags": [route.handle.__module__.rpartition(".")[2]],
        "summary": summary.rstrip("."),
        "security": [] if route.public else [{"customer": []}],
        "parameters": _parameters(route),
        "responses": {**_successes(route), **_failures(route)},
    }
    if description:
        operation["description"] = description.strip()
    if route.takes_bytes:
        operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": {"type": "object"}}}}
    if route.body is not None:
        operation["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": _reference(route.body.__name__)}},
        }
    return operation


def _parameters(route: Route[Any, Any]) -> list[dict[str, Any]]:
    parameters: list[dict[str, Any]] = [
        {
            "name": name,
            "in": "path",
            "required": True,
            "description": _PATH_PARAMETERS[name],
            "schema": {"type": "string", "pattern": ONE_LINE_PATTERN},
        }
        for name in re.findall(r"{(\w+)}", route.path)
    ]
    if route.query is not None:
        model = route.query.model_json_schema(schema_generator=_Plain)
        parameters += [
            _query_parameter(name, schema, model.get("$defs", {}), required=name in model.get("required", []))
            for name, schema in model["properties"].items()
        ]
    if problems.IDEMPOTENCY_KEY_MISSING in route.all_problems:
        parameters.append(_IDEMPOTENCY_KEY)
    return parameters


def _query_parameter(name: str, schema: dict[str, Any], named: dict[str, Any], *, required: bool) -> dict[str, Any]:
    # Absent is how a query says null, and a parameter says in place what a model would have by name.
    options = [option for option in schema.get("anyOf", [schema]) if option != {"type": "null"}]
    whole = (named[option["$ref"].rpartition("/")[2]] if "$ref" in option else option for option in options)
    (plain,) = ({key: value for key, value in each.items() if key not in {"description", "title"}} for each in whole)
    return {"name": name, "in": "query", "required": required, "description": schema["description"], "schema": plain}


def _successes(route: Route[Any, Any]) -> dict[str, Any]:
    statuses = {route.status: route.header_names, **route.other_statuses}
    return {str(status): _success(route, names) for status, names in sorted(statuses.items())}


def _success(route: Route[Any, Any], header_names: tuple[str, ...]) -> dict[str, Any]:
    # What only some answers carry has its reason in the route's description.
    always = _ALWAYS & set(header_names)
    return {
        "description": inspect.getdoc(route.answer) or "Done.",
        "headers": _headers({"x-request-id", *header_names}, required={"x-request-id", *always}),
        "content": {"application/json": {"schema": _reference(route.answer.__name__)}},
    }


def _failures(route: Route[Any, Any]) -> dict[str, Any]:
    by_status: defaultdict[int, list[ProblemType]] = defaultdict(list)
    for kind in sorted(route.all_problems, key=lambda each: (each.status, each.code)):
        by_status[kind.status].append(kind)
    # Of a public route the gateway asks no token: a 401 there is the route's own.
    by_gateway = _GATEWAY_STATUSES - ({401} if route.public else set())
    answers = {
        status: _failure(kinds, by_gateway=status in by_gateway, detail_of=route.detail_of)
        for status, kinds in by_status.items()
    }
    answers[_THROTTLED] = {
        "description": "The gateway takes no more requests at the moment.",
        "content": {"application/json": {"schema": _reference(_GATEWAY_MESSAGE)}},
    }
    return {str(status): answers[status] for status in sorted(answers)}


def _failure(
    kinds: list[ProblemType],
    *,
    by_gateway: bool,
    detail_of: Callable[[ProblemType], str] = lambda kind: kind.detail,
) -> dict[str, Any]:
    references = [_reference(_problem_name(kind)) for kind in kinds]
    names = {"x-request-id", *(kind.header for kind in kinds if kind.header)}
    answer: dict[str, Any] = {
        "description": " ".join(f"`{kind.code}`: {detail_of(kind)}" for kind in kinds),
        "headers": _headers(names, required=set() if by_gateway else {"x-request-id"}),
        "content": {CONTENT_TYPE: {"schema": references[0] if len(references) == 1 else {"oneOf": references}}},
    }
    if by_gateway:
        answer["content"]["application/json"] = {"schema": _reference(_GATEWAY_MESSAGE)}
    return answer


def _headers(names: set[str], *, required: set[str]) -> dict[str, Any]:
    return {name: _HEADERS[name] | {"required": name in required} for name in sorted(names)}


def _schemas() -> dict[str, Any]:
    kinds = (*_declared(), problems.ROUTE_UNKNOWN, problems.METHOD_NOT_ALLOWED)
    models: dict[type[BaseModel], Literal["validation", "serialization"]] = {
        kind.body: "serialization" for kind in kinds
    }
    for route in ROUTES:
        models[route.answer] = "serialization"
        if route.body is not None:
            models[route.body] = "validation"
    _, definitions = models_json_schema(list(models.items()), ref_template=_REFERENCE, schema_generator=_Plain)
    schemas: dict[str, Any] = definitions["$defs"]
    bodies = {name: schemas.pop(name) for name in {kind.body.__name__ for kind in kinds}}
    schemas |= {_problem_name(kind): _problem(kind, bodies[kind.body.__name__]) for kind in kinds}
    schemas[_GATEWAY_MESSAGE] = {
        "type": "object",
        "description": "What the gateway on AWS answers by itself.",
        "properties": {
            "message": {"type": "string"},
            # So that a typed client may look at `code` before it knows who has answered.
            "code": {"type": "string", "enum": [""], "description": "Never there: only problems have a code."},
        },
        "required": ["message"],
    }
    return dict(sorted(schemas.items()))


def _declared() -> Iterable[ProblemType]:
    return frozenset().union(*(route.all_problems for route in ROUTES))


def _problem(kind: ProblemType, body: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of one problem, which its code tells from all others."""
    fixed = {"type": kind.uri, "title": kind.title, "status": kind.status, "code": kind.code}
    properties = {
        name: schema | ({"const": fixed[name]} if name in fixed else {}) for name, schema in body["properties"].items()
    }
    return body | {"title": _problem_name(kind), "description": kind.detail, "properties": properties}


def _problem_name(kind: ProblemType) -> str:
    return f"{_pascal(kind.code)}Problem"


def _pascal(code: str) -> str:
    return "".join(word.capitalize() for word in code.split("_"))


def _reference(name: str) -> dict[str, str]:
    return {"$ref": _REFERENCE.format(model=name)}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(document(), indent=2) + "\n")
