"""One function of the shop: its code, role, log and limits."""

from collections.abc import Mapping

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from constructs import Construct

from infra.acknowledgements import acknowledge
from infra.build import Build
from infra.layer import SharedLayer
from infra.log_retention import retention
from infra.network import Network
from infra.stage import Stage
from skincare.deployment.functions import Function


class ShopFunction(Construct):
    """A Lambda function in the network, with a role that may write its own log and traces and nothing else.

    What it may do beside that, its stack grants. Of `environment` it is given the settings that its `spec` names.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        stage: Stage,
        build: Build,
        layer: SharedLayer,
        network: Network,
        spec: Function,
        environment: Mapping[str, str],
        reserved_concurrency: int | None = None,
    ) -> None:
        super().__init__(scope, construct_id)
        self.name = function_name(stage, spec.name)
        self.spec = spec
        self.reserved_concurrency = reserved_concurrency
        self.log = logs.LogGroup(
            self,
            "Log",
            log_group_name=f"/aws/lambda/{self.name}",
            retention=retention(stage.log_days),
            removal_policy=cdk.RemovalPolicy.RETAIN if stage.keep_data else cdk.RemovalPolicy.DESTROY,
        )
        role = iam.Role(
            self,
            "Role",
            assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"),
            description=f"What {self.name} may do",
            inline_policies={"Runtime": _runtime_policy(self.log)},
        )
        acknowledge(role, "AwsSolutions-IAM5[Resource::*]", _RESOURCE_UNKNOWN)
        acknowledge(role, "Serverless-LambdaStarPermissions", _RESOURCE_UNKNOWN)
        self.function = lambda_.Function(
            self,
            "Function",
            function_name=self.name,
            description=spec.description,
            runtime=lambda_.Runtime.PYTHON_3_13,
            architecture=build.lambda_architecture,
            handler=spec.handler,
            code=build.function_code(spec.package, spec.packages),
            layers=[layer.version],
            role=role,
            vpc=network.vpc,
            vpc_subnets=network.function_subnets,
            security_groups=[network.functions],
            timeout=cdk.Duration.seconds(int(spec.timeout.total_seconds())),
            memory_size=spec.memory_mb,
            reserved_concurrent_executions=reserved_concurrency,
            environment=_given(
                spec,
                {
                    **environment,
                    "STAGE": stage.name,
                    "POWERTOOLS_SERVICE_NAME": "skincare",
                    **({"RELEASE": build.release} if build.release else {}),
                },
            ),
            log_group=self.log,
            logging_format=lambda_.LoggingFormat.JSON,
            application_log_level_v2=lambda_.ApplicationLogLevel.INFO,
            system_log_level_v2=lambda_.SystemLogLevel.WARN,
            tracing=lambda_.Tracing.ACTIVE,
        )
        acknowledge(self.function, "AwsSolutions-L1", _NOT_THE_NEWEST_RUNTIME)
        acknowledge(self.function, "Serverless-LambdaLatestVersion", _NOT_THE_NEWEST_RUNTIME)

    def allow(self, *actions: str, on: list[str]) -> None:
        """Let the function do these actions on these resources. Only stacks call this."""
        self.function.add_to_role_policy(iam.PolicyStatement(actions=list(actions), resources=on))


def _given(spec: Function, environment: Mapping[str, str]) -> dict[str, str]:
    given = {name: value for name, value in environment.items() if spec.is_given(name)}
    if missing := [name for name in spec.needs if name not in given]:
        raise ValueError(f"the function {spec.name} would not start: nothing gives it {', '.join(missing)}")
    return given


def function_name(stage: Stage, name: str) -> str:
    """Return a function's name on AWS. It is fixed, so that people, alarms and the dashboard find it."""
    return f"skincare-{stage.name}-{name}"


_RESOURCE_UNKNOWN = (
    "Network interfaces have no name before Lambda makes them, and X-Ray's two actions take no resource; "
    "the actions are listed one by one."
)
_NOT_THE_NEWEST_RUNTIME = "Python 3.13 is what the locked packages and the tests run on; it is supported until 2029."


def _runtime_policy(log: logs.LogGroup) -> iam.PolicyDocument:
    """Return what Lambda itself does in the function's name: log, trace, and join the network."""
    return iam.PolicyDocument(
        statements=[
            iam.PolicyStatement(actions=["logs:CreateLogStream", "logs:PutLogEvents"], resources=[log.log_group_arn]),
            iam.PolicyStatement(
                actions=[
                    "ec2:AssignPrivateIpAddresses",
                    "ec2:CreateNetworkInterface",
                    "ec2:DeleteNetworkInterface",
                    "ec2:DescribeNetworkInterfaces",
                    "ec2:DescribeSubnets",
                    "ec2:UnassignPrivateIpAddresses",
                ],
                resources=["*"],
            ),
        ]
    )
