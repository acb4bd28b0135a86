"""Cross-origin answers as API Gateway gives them: by itself, from its settings, whatever the function says.

https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-cors.html
"""

from dataclasses import dataclass
from datetime import timedelta

from werkzeug import Request, Response


@dataclass(frozen=True)
class Cors:
    """Which pages elsewhere may call an API: none, unless origins are named."""

    allow_origins: tuple[str, ...] = ()
    allow_methods: tuple[str, ...] = ()
    allow_headers: tuple[str, ...] = ()
    expose_headers: tuple[str, ...] = ()
    max_age: timedelta = timedelta(0)


def preflight(request: Request, cors: Cors) -> Response | None:
    """Return the answer to a browser that asks before it calls; None for any other request."""
    if request.method != "OPTIONS" or not {"Origin", "Access-Control-Request-Method"} <= set(request.headers.keys()):
        return None
    response = Response(status=204)
    if request.headers["Origin"] in cors.allow_origins:
        response.headers["Access-Control-Allow-Methods"] = ",".join(cors.allow_methods)
        response.headers["Access-Control-Allow-Headers"] = ",".join(cors.allow_headers)
        response.headers["Access-Control-Max-Age"] = str(round(cors.max_age.total_seconds()))
    return response


def add_headers(request: Request, response: Response, cors: Cors) -> None:
    """Let a page of an allowed origin read the answer, and nobody else."""
    response.vary.add("Origin")
    origin = request.headers.get("Origin")
    if origin in cors.allow_origins:
        response.headers["Access-Control-Allow-Origin"] = origin
        response.headers["Access-Control-Expose-Headers"] = ",".join(cors.expose_headers)


def forget_headers(response: Response) -> None:
    """Drop what a function said about other origins."""
    for name in {name.lower() for name in response.headers.keys()}:  # noqa: SIM118  iterating yields pairs
        if name.startswith("access-control-"):
            del response.headers[name]
