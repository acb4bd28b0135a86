"""The Api stack: the HTTP API and its function. It deploys without the workers."""

import aws_cdk as cdk
from aws_cdk import aws_codedeploy as codedeploy
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from infra.acknowledgements import acknowledge
from infra.alarm import Alarms, duration
from infra.build import Build
from infra.customers import UserPool
from infra.dashboard import Dashboard
from infra.data import DataStack, acknowledge_invoice_objects
from infra.function import ShopFunction
from infra.function_alarms import add_function_alarms
from infra.http_api import HttpApi
from infra.layer import SharedLayer
from infra.stage import Stage
from skincare.deployment import alarms as rules
from skincare.deployment import functions

_CODEDEPLOY_POLICY = "arn:<AWS::Partition>:iam::aws:policy/service-role/AWSCodeDeployRoleForLambdaLimited"


class ApiStack(cdk.Stack):
    """The API function behind an alias, the HTTP API in front of it, and the dashboard."""

    def __init__(self, scope: Construct, construct_id: str, *, stage: Stage, build: Build, data: DataStack) -> None:
        super().__init__(
            scope,
            construct_id,
            description=f"Skincare {stage.name}: the HTTP API",
            termination_protection=stage.keep_data,
        )
        self.add_stack_dependency(data)
        self.function = ShopFunction(
            self,
            "Function",
            stage=stage,
            build=build,
            layer=SharedLayer(self, "Layer", build=build),
            network=data.network,
            spec=functions.API,
            environment={**data.settings, **data.secrets.environment(), "SERVES_CUSTOMERS": "true"},
            reserved_concurrency=stage.api_concurrency,
        )
        acknowledge(
            self.function.function, "Serverless-LambdaDLQ", "API Gateway waits for its answer; nothing is queued."
        )
        data.database.grant_connect(self.function.function)
        self.function.allow(
            "sqs:SendMessage", on=[data.queues[queue].source.queue_arn for queue in functions.API.sends_to]
        )
        self.function.allow("secretsmanager:GetSecretValue", on=data.secrets.arns())
        self.function.allow("s3:GetObject", on=[data.invoice_objects])
        acknowledge_invoice_objects(self.function, data)

        alias = lambda_.Alias(self, "Live", alias_name="live", version=self.function.function.current_version)
        issuer = stage.token_issuer or UserPool(self, "Customers", stage=stage).issuer
        self.http = HttpApi(self, "Http", stage=stage, function=alias, issuer=issuer)

        alarms = Alarms(self, "Alarms", stage=stage, topic=data.topics.alarms)
        crashes = add_function_alarms(alarms, self.function)
        alarms.add_log_alarms({self.function.spec.name: self.function})
        http = self.http.api
        errors = alarms.add(
            rules.API_ERRORS, http.metric_server_error(statistic="Sum", period=duration(rules.API_ERRORS))
        )
        alarms.add(rules.API_SLOW, http.metric_latency(statistic="p99", period=duration(rules.API_SLOW)))
        if stage.canary:
            group = codedeploy.LambdaDeploymentGroup(
                self,
                "Canary",
                alias=alias,
                deployment_config=codedeploy.LambdaDeploymentConfig.CANARY_10_PERCENT_5_MINUTES,
                alarms=[crashes, errors],
                auto_rollback=codedeploy.AutoRollbackConfig(failed_deployment=True, deployment_in_alarm=True),
            )
            acknowledge(
                group, f"AwsSolutions-IAM4[Policy::{_CODEDEPLOY_POLICY}]", "AWS keeps it to what CodeDeploy does."
            )
        dashboard = Dashboard(self, "Dashboard", stage=stage, data=data, http=self.http.api)
        cdk.CfnOutput(self, "ApiUrl", value=self.http.api.api_endpoint)
        cdk.CfnOutput(self, "DashboardUrl", value=dashboard.url)
