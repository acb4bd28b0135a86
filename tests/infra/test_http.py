"""The gateway on AWS has the routes, the limits and the cross-origin rules of the API and of the local gateway."""

import json

import pytest

from api.app import ROUTES
from infra.stage import Stage
from skincare.deployment.http import HTTP
from tests.architecture.tree import ROOT
from tests.infra.templates import Templates


def routes_of(templates: Templates) -> dict[str, str]:
    """Return route key to the kind of authorization."""
    return {
        route.properties["RouteKey"]: route.properties["AuthorizationType"]
        for route in templates.of("AWS::ApiGatewayV2::Route")
    }


class TestRoutes:
    def test_are_those_of_the_api(self, templates: Templates) -> None:
        ours = {f"{route.method} {route.path}": "NONE" if route.public else "JWT" for route in ROUTES}
        assert routes_of(templates) == ours

    def test_are_those_of_the_document(self, templates: Templates) -> None:
        document = json.loads((ROOT / "docs" / "openapi.json").read_text())
        keys = {f"{method.upper()} {path}" for path, methods in document["paths"].items() for method in methods}
        assert set(routes_of(templates)) == keys

    def test_without_a_token_are_the_catalog_the_health_check_and_webhooks_only(self, templates: Templates) -> None:
        public = {key.split(" ")[1] for key, kind in routes_of(templates).items() if kind == "NONE"}
        assert public == {
            "/health",
            "/v1/products",
            "/v1/products/suggest",
            "/v1/products/{sku}",
            "/v1/payments/webhook",
            "/v1/payments/webhook/{gateway}",
        }

    def test_lead_to_one_function(self, templates: Templates) -> None:
        (integration,) = templates.of("AWS::ApiGatewayV2::Integration")
        targets = {route.properties["Target"] for route in templates.of("AWS::ApiGatewayV2::Route")}
        assert targets == {f"integrations/{integration.logical_id}"}

    def test_wait_for_the_function_longer_than_it_may_take(self, templates: Templates) -> None:
        (integration,) = templates.of("AWS::ApiGatewayV2::Integration")
        # Absent is 30 s.
        waits_ms = integration.properties.get("TimeoutInMillis", 30_000)
        assert waits_ms == HTTP.integration_timeout.total_seconds() * 1000
        assert waits_ms > templates.function("api").properties["Timeout"] * 1000


class TestTokens:
    def test_are_those_of_the_user_pool_that_the_stack_makes(self, dev: Templates) -> None:
        (authorizer,) = dev.of("AWS::ApiGatewayV2::Authorizer")
        (pool,) = dev.of("AWS::Cognito::UserPool")
        (client,) = dev.of("AWS::Cognito::UserPoolClient")
        jwt = authorizer.properties["JwtConfiguration"]
        assert jwt["Issuer"] == f"https://cognito-idp.ap-southeast-3.amazonaws.com/{pool.logical_id}"
        assert jwt["Audience"] == [client.logical_id]

    def test_come_with_an_address_that_the_customer_has_proved(self, dev: Templates) -> None:
        (pool,) = dev.of("AWS::Cognito::UserPool")
        assert pool.properties["AutoVerifiedAttributes"] == ["email"]
        assert pool.properties["UsernameAttributes"] == ["email"]
        assert pool.properties["UserAttributeUpdateSettings"] == {
            "AttributesRequireVerificationBeforeUpdate": ["email"]
        }


class TestTheGateway:
    def test_lets_the_pages_of_the_stage_call_and_no_others(self, stage: Stage, templates: Templates) -> None:
        (api,) = templates.of("AWS::ApiGatewayV2::Api")
        assert api.properties["CorsConfiguration"] == {
            "AllowOrigins": list(stage.cors_origins),
            "AllowMethods": list(HTTP.cors.allow_methods),
            "AllowHeaders": list(HTTP.cors.allow_headers),
            "ExposeHeaders": list(HTTP.cors.expose_headers),
            "MaxAge": HTTP.cors.max_age.total_seconds(),
        }

    def test_of_production_serves_no_page_of_a_developer(self, prod: Templates) -> None:
        (api,) = prod.of("AWS::ApiGatewayV2::Api")
        assert all(origin.startswith("https://") for origin in api.properties["CorsConfiguration"]["AllowOrigins"])

    def test_turns_away_what_is_too_much(self, templates: Templates) -> None:
        (gateway,) = templates.of("AWS::ApiGatewayV2::Stage")
        settings = gateway.properties["DefaultRouteSettings"]
        assert settings["ThrottlingRateLimit"] == HTTP.requests_per_second
        assert settings["ThrottlingBurstLimit"] == HTTP.burst

    def test_logs_each_request_with_its_id_and_nothing_of_the_customer(self, templates: Templates) -> None:
        (gateway,) = templates.of("AWS::ApiGatewayV2::Stage")
        fields = json.loads(gateway.properties["AccessLogSettings"]["Format"])
        assert fields["request_id"] == "$context.requestId"
        assert not any(word in value for value in fields.values() for word in ("identity", "claims", "path"))

    def test_tells_where_it_is(self, templates: Templates) -> None:
        (api,) = templates.of("AWS::ApiGatewayV2::Api")
        assert templates.stacks["Api"]["Outputs"]["ApiUrl"]["Value"] == {"Fn::GetAtt": [api.logical_id, "ApiEndpoint"]}


@pytest.mark.parametrize("method", HTTP.cors.allow_methods)
def test_pages_may_use_the_methods_of_the_api(method: str) -> None:
    assert any(route.method == method for route in ROUTES)
