"""The HTTP API in front of the API function: routes, tokens, cross-origin rules, limits and access log."""

import json

import aws_cdk as cdk
import jsii
from aws_cdk import aws_apigateway as apigateway
from aws_cdk import aws_apigatewayv2 as apigw
from aws_cdk import aws_apigatewayv2_authorizers as authorizers
from aws_cdk import aws_apigatewayv2_integrations as integrations
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from constructs import Construct

from infra.acknowledgements import acknowledge
from infra.log_retention import retention
from infra.routes import ApiRoute, api_routes
from infra.stage import Stage, TokenIssuer
from skincare.deployment.http import HTTP

# No address and no header: what a customer is known by stays out of the log.
_LOGGED = {
    "request_id": "$context.requestId",
    "route": "$context.routeKey",
    "method": "$context.httpMethod",
    "status": "$context.status",
    "response_bytes": "$context.responseLength",
    "latency_ms": "$context.responseLatency",
    "function_latency_ms": "$context.integrationLatency",
    "function_error": "$context.integrationErrorMessage",
    "token_error": "$context.authorizer.error",
    "time": "$context.requestTime",
}


class HttpApi(Construct):
    """Lets through who has a token, and anybody to the public routes."""

    def __init__(
        self, scope: Construct, construct_id: str, *, stage: Stage, function: lambda_.IFunction, issuer: TokenIssuer
    ) -> None:
        super().__init__(scope, construct_id)
        self.api = apigw.HttpApi(
            self,
            "Api",
            api_name=f"skincare-{stage.name}",
            create_default_stage=False,
            cors_preflight=apigw.CorsPreflightOptions(
                allow_origins=list(stage.cors_origins),
                allow_methods=[apigw.CorsHttpMethod[method] for method in HTTP.cors.allow_methods],
                allow_headers=list(HTTP.cors.allow_headers),
                expose_headers=list(HTTP.cors.expose_headers),
                max_age=cdk.Duration.seconds(int(HTTP.cors.max_age.total_seconds())),
            ),
        )
        self._integration = integrations.HttpLambdaIntegration(
            "Function",
            function,
            payload_format_version=apigw.PayloadFormatVersion.VERSION_2_0,
            # No timeout: the default is the 30 s of HTTP.integration_timeout, and the CDK takes at most 29.
            scope_permission_to_route=False,
        )
        self._authorizer = authorizers.HttpJwtAuthorizer("Customers", issuer.issuer, jwt_audience=[issuer.audience])
        for route in api_routes():
            self._add(route)
        # No $default: it would match a browser's preflight too, whose authorizer finds no token and answers 401.
        self.stage = apigw.HttpStage(
            self,
            "Stage",
            http_api=self.api,
            stage_name="$default",
            auto_deploy=True,
            throttle=apigw.ThrottleSettings(rate_limit=HTTP.requests_per_second, burst_limit=HTTP.burst),
            access_log_settings=_AccessLog(self._access_log(stage)),
        )

    def _add(self, route: ApiRoute) -> None:
        resource = apigw.HttpRoute(
            self,
            f"{route.method} {route.path}".replace("/", "."),
            http_api=self.api,
            route_key=apigw.HttpRouteKey.with_(route.path, apigw.HttpMethod[route.method]),
            integration=self._integration,
            authorizer=apigw.HttpNoneAuthorizer() if route.public else self._authorizer,
        )
        if route.public:
            acknowledge(
                resource,
                "AwsSolutions-APIG4",
                "Public on purpose: the catalog, the health check, and webhooks, whose signature the API checks.",
            )

    def _access_log(self, stage: Stage) -> logs.LogGroup:
        return logs.LogGroup(
            self,
            "AccessLog",
            log_group_name=f"/skincare/{stage.name}/http",
            retention=retention(stage.log_days),
            removal_policy=cdk.RemovalPolicy.RETAIN if stage.keep_data else cdk.RemovalPolicy.DESTROY,
        )


@jsii.implements(apigw.IAccessLogSettings)
class _AccessLog:
    def __init__(self, group: logs.LogGroup) -> None:
        self._destination = apigw.LogGroupLogDestination(group)
        self._format = apigateway.AccessLogFormat.custom(json.dumps(_LOGGED))

    @property
    def destination(self) -> apigw.IAccessLogDestination:
        return self._destination

    @property
    def format(self) -> apigateway.AccessLogFormat:
        return self._format
