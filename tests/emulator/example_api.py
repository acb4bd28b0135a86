"""An HTTP API to put behind a gateway: routes with and without a token, one allowed origin, and who signs tokens."""

from datetime import timedelta

from emulator.gateway.cors import Cors
from emulator.gateway.http_api import HttpApi
from emulator.gateway.routes import RouteTable
from emulator.gateway.tokens import TokenIssuer, new_signing_key

ISSUER, AUDIENCE = "https://identity.example.com", "example"
ORIGIN = "https://shop.example.com"

API = HttpApi(
    RouteTable(
        {
            "GET /v1/cart": True,
            "GET /v1/orders": True,
            "POST /v1/orders": True,
            "GET /v1/orders/{order_number}": True,
            "GET /v1/orders/{order_number}/invoice": True,
            "GET /v1/products": False,
            "GET /v1/products/{sku}": False,
            "POST /v1/payments/webhook": False,
            "POST /v1/payments/webhook/{gateway}": False,
        }
    ),
    cors=Cors(
        allow_origins=(ORIGIN,),
        allow_methods=("DELETE", "GET", "POST", "PUT"),
        allow_headers=("authorization", "content-type", "idempotency-key"),
        expose_headers=("location", "retry-after", "x-request-id"),
        max_age=timedelta(hours=1),
    ),
    urn="urn:example",
)
TOKENS = TokenIssuer(new_signing_key(), issuer=ISSUER, audience=AUDIENCE)
