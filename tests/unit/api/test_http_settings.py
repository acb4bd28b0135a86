"""The limits and cross-origin rules of the HTTP API, and what a local gateway is told of them."""

from api.app import ROUTES
from api.headers import IDEMPOTENCY_KEY
from local.http_api import http_api
from skincare.deployment.http import HTTP, Cors


class TestTheCrossOriginRules:
    def test_allow_what_the_routes_take(self) -> None:
        assert set(HTTP.cors.allow_methods) == {route.method for route in ROUTES}
        assert {IDEMPOTENCY_KEY, "authorization", "content-type"} == set(HTTP.cors.allow_headers)

    def test_expose_every_header_that_a_route_answers(self) -> None:
        answered = {name for route in ROUTES for name in route.header_names} | {"x-request-id", "retry-after"}
        readable_anyway = {"cache-control"}  # Fetch: "CORS-safelisted response-header name"
        assert set(HTTP.cors.expose_headers) == answered - readable_anyway

    def test_name_no_origin_twice_and_never_all(self) -> None:
        origins = Cors().allow_origins
        assert len(set(origins)) == len(origins)
        assert "*" not in origins


class TestTheLocalGateway:
    def test_has_the_routes_of_the_api(self) -> None:
        for route in ROUTES:
            found = http_api().routes.find(route.method, route.path.replace("{", "").replace("}", ""))
            assert found is not None
            assert (found.key, found.needs_token) == (f"{route.method} {route.path}", not route.public)

    def test_has_the_limits_and_rules_of_the_deployed_one(self) -> None:
        api = http_api()
        assert vars(api.cors) == vars(HTTP.cors)
        assert (api.max_body_bytes, api.max_head_bytes, api.integration_timeout) == (
            HTTP.gateway_max_body_bytes,
            HTTP.gateway_max_head_bytes,
            HTTP.integration_timeout,
        )
