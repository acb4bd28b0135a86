"""What an HTTP API of API Gateway is configured with."""

from dataclasses import dataclass, field
from datetime import timedelta

from emulator.gateway.cors import Cors
from emulator.gateway.routes import RouteTable


@dataclass(frozen=True)
class HttpApi:
    """One API. The limits are AWS's own ("Quotas for configuring and running an HTTP API")."""

    routes: RouteTable
    cors: Cors = field(default_factory=Cors)
    urn: str = "urn:local"
    """Begins the types of the problems that the gateway answers: `<urn>:problem:<code>`."""
    max_body_bytes: int = 10_000_000
    max_head_bytes: int = 10_240
    """Of the request line and the header values together."""
    integration_timeout: timedelta = timedelta(seconds=30)
    """How long the gateway waits for the function."""
