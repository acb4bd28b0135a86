"""The network: functions reach out, nothing reaches in, and the database is reached by functions only."""

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_logs as logs
from constructs import Construct

from infra.log_retention import retention
from infra.stage import Stage

POSTGRESQL = ec2.Port.tcp(5432)
HTTPS = ec2.Port.tcp(443)


class Network(Construct):
    """A VPC in two zones: public subnets for NAT, private ones for functions, isolated ones for the database."""

    def __init__(self, scope: Construct, construct_id: str, *, stage: Stage) -> None:
        super().__init__(scope, construct_id)
        self.vpc = ec2.Vpc(
            self,
            "Vpc",
            max_azs=2,
            nat_gateways=stage.nat_gateways,
            subnet_configuration=[
                ec2.SubnetConfiguration(name="Public", subnet_type=ec2.SubnetType.PUBLIC, cidr_mask=26),
                ec2.SubnetConfiguration(name="Functions", subnet_type=ec2.SubnetType.PRIVATE_WITH_EGRESS, cidr_mask=20),
                ec2.SubnetConfiguration(name="Database", subnet_type=ec2.SubnetType.PRIVATE_ISOLATED, cidr_mask=26),
            ],
            # Without a price, and it keeps invoices off the NAT gateway.
            gateway_endpoints={"S3": ec2.GatewayVpcEndpointOptions(service=ec2.GatewayVpcEndpointAwsService.S3)},
        )
        self.function_subnets = ec2.SubnetSelection(subnet_group_name="Functions")
        self.database_subnets = ec2.SubnetSelection(subnet_group_name="Database")
        self._log_rejected(stage)

        self.functions = ec2.SecurityGroup(
            self, "FunctionsGroup", vpc=self.vpc, description="Functions of the shop", allow_all_outbound=False
        )
        self.functions.add_egress_rule(ec2.Peer.any_ipv4(), HTTPS, "AWS and payment gateways")
        self.database = ec2.SecurityGroup(
            self, "DatabaseGroup", vpc=self.vpc, description="Database and its proxy", allow_all_outbound=False
        )
        self.database.connections.allow_from(self.functions, POSTGRESQL, "Functions")
        self.database.connections.allow_from(self.database, POSTGRESQL, "Proxy to database")
        if stage.endpoints:
            self._add_endpoints()

    def _log_rejected(self, stage: Stage) -> None:
        log = logs.LogGroup(
            self,
            "RejectedTraffic",
            retention=retention(stage.log_days),
            removal_policy=cdk.RemovalPolicy.DESTROY,
        )
        self.vpc.add_flow_log(
            "FlowLog",
            destination=ec2.FlowLogDestination.to_cloud_watch_logs(log),
            traffic_type=ec2.FlowLogTrafficType.REJECT,
        )

    def _add_endpoints(self) -> None:
        group = ec2.SecurityGroup(
            self, "EndpointsGroup", vpc=self.vpc, description="Private endpoints of AWS", allow_all_outbound=False
        )
        group.add_ingress_rule(self.functions, HTTPS, "Functions")
        services = {
            "Sqs": ec2.InterfaceVpcEndpointAwsService.SQS,
            "SecretsManager": ec2.InterfaceVpcEndpointAwsService.SECRETS_MANAGER,
        }
        for name, service in services.items():
            self.vpc.add_interface_endpoint(
                name, service=service, subnets=self.function_subnets, security_groups=[group], open=False
            )
