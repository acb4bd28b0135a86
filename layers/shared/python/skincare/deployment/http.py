"""Limits and cross-origin rules of the HTTP API: one object for the API, the local gateway and the deployment.

Only the standard library is imported, so that a tool which deploys the API can read it without the API's packages.
"""

from dataclasses import dataclass, field
from datetime import timedelta


@dataclass(frozen=True)
class Cors:
    """Which pages elsewhere may call the API. The gateway alone answers preflights and adds the headers.

    It ignores such headers from a function (AWS: "Configure CORS for HTTP APIs in API Gateway").
    """

    allow_origins: tuple[str, ...] = (
        "http://localhost:3000",
        "http://127.0.0.1:3000",
        "http://localhost:5173",
        "http://127.0.0.1:5173",
    )
    """Where a front end under development is served from. A deployed stage names its own origins instead."""
    allow_methods: tuple[str, ...] = ("DELETE", "GET", "POST", "PUT")
    allow_headers: tuple[str, ...] = ("authorization", "content-type", "idempotency-key")
    expose_headers: tuple[str, ...] = ("location", "retry-after", "x-request-id")
    """What a page's code may read beside the headers that every page may."""
    max_age: timedelta = timedelta(hours=1)
    """How long a browser may remember a preflight's answer."""


@dataclass(frozen=True)
class HttpSettings:
    """What holds for every route."""

    max_body_bytes: int = 64 * 1024
    """The longest body that the API reads."""
    max_nesting: int = 32
    """How deep the brackets of a JSON body may go."""
    gateway_max_body_bytes: int = 10_000_000
    """The longest body that the gateway takes (AWS: "Quotas for configuring and running an HTTP API")."""
    gateway_max_head_bytes: int = 10_240
    """The longest request line and header values together that the gateway takes (the same page)."""
    integration_timeout: timedelta = timedelta(seconds=30)
    """How long the gateway waits for the function, which is also the most that AWS allows."""
    requests_per_second: int = 100
    """What the gateway lets through in the long run; above it answers 429 itself. The local one never does."""
    burst: int = 200
    """Requests that the gateway lets through at once after a quiet time."""
    cors: Cors = field(default_factory=Cors)


HTTP = HttpSettings()
