"""PostgreSQL on RDS, with or without RDS Proxy in front. Functions log in with IAM tokens; nobody has a password."""

from typing import cast

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cw
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_rds as rds
from constructs import Construct

from infra.acknowledgements import acknowledge
from infra.network import Network
from infra.stage import Stage

DATABASE_NAME = "skincare"
ROLE = "app"
"""The role in the database that every function but the migrator logs in as."""

_ENGINE = rds.DatabaseInstanceEngine.postgres(version=rds.PostgresEngineVersion.VER_17_9)

# In the layer: the certificates of RDS and of its proxy.
_TLS = "sslmode=verify-full&sslrootcert=/opt/python/skincare/database/rds_ca.pem"

_NEVER_LOG_VALUES = {
    # Errors tell their code and not the row ("Key (email)=(…) already exists"), nor the statement.
    "log_error_verbosity": "terse",
    "log_min_error_statement": "panic",
    # Slow statements are logged with $1, $2 in place of their values.
    "log_min_duration_statement": "1000",
    "log_parameter_max_length": "0",
    "log_parameter_max_length_on_error": "0",
    "log_statement": "none",
}


class Database(Construct):
    """The instance, encrypted and reachable from functions only; `url` is where these connect."""

    def __init__(self, scope: Construct, construct_id: str, *, stage: Stage, network: Network) -> None:
        super().__init__(scope, construct_id)
        size = stage.database
        self.instance = rds.DatabaseInstance(
            self,
            "Instance",
            engine=_ENGINE,
            parameter_group=rds.ParameterGroup(
                self,
                "Parameters",
                engine=_ENGINE,
                description="Logs without values, TLS only",
                parameters={
                    **_NEVER_LOG_VALUES,
                    "log_lock_waits": "1",
                    "max_connections": str(size.max_connections),
                    "rds.force_ssl": "1",
                },
            ),
            database_name=DATABASE_NAME,
            instance_type=ec2.InstanceType(size.instance),
            allocated_storage=size.storage_gib,
            max_allocated_storage=size.storage_limit_gib,
            storage_type=rds.StorageType.GP3,
            storage_encrypted=True,
            vpc=network.vpc,
            vpc_subnets=network.database_subnets,
            security_groups=[network.database],
            publicly_accessible=False,
            multi_az=size.multi_az,
            ca_certificate=rds.CaCertificate.RDS_CA_RSA2048_G1,
            iam_authentication=True,
            # RDS makes the owner's password, keeps it in a secret and changes it each week.
            credentials=rds.Credentials.from_username("skincare_owner"),
            manage_master_user_password=True,
            backup_retention=cdk.Duration.days(size.backup_days),
            delete_automated_backups=not stage.keep_data,
            copy_tags_to_snapshot=True,
            deletion_protection=stage.keep_data,
            removal_policy=cdk.RemovalPolicy.RETAIN if stage.keep_data else cdk.RemovalPolicy.DESTROY,
            database_insights_mode=(
                rds.DatabaseInsightsMode.ADVANCED if size.advanced_insights else rds.DatabaseInsightsMode.STANDARD
            ),
            enable_performance_insights=True,
            performance_insight_retention=(
                rds.PerformanceInsightRetention.MONTHS_15
                if size.advanced_insights
                else rds.PerformanceInsightRetention.DEFAULT
            ),
            auto_minor_version_upgrade=True,
        )
        if stage.restore_from_snapshot is not None:
            self._restore(stage.restore_from_snapshot)
        acknowledge(self.instance, "AwsSolutions-RDS11", "The default port: the subnets are isolated anyway.")
        if not size.multi_az:
            acknowledge(self.instance, "AwsSolutions-RDS3", "An outage of this stage costs no customer anything.")
        if not stage.keep_data:
            acknowledge(self.instance, "AwsSolutions-RDS10", "This stage's data may go with its stack.")
        self.proxy = self._make_proxy(network) if size.proxy else None

    @property
    def url(self) -> str:
        """Where the functions connect, as the role `app`."""
        host = self.proxy.endpoint if self.proxy else self.instance.db_instance_endpoint_address
        return f"postgresql://{ROLE}@{host}:5432/{DATABASE_NAME}?{_TLS}"

    @property
    def owner_url(self) -> str:
        """Where the migrator connects: the instance itself, for an advisory lock would pin the proxy's connection."""
        return f"postgresql://{self.instance.db_instance_endpoint_address}:5432/{DATABASE_NAME}?{_TLS}"

    @property
    def owner_secret(self) -> str:
        """The ARN of the secret with the owner's user and password."""
        if self.instance.secret is None:
            raise AssertionError("RDS manages the owner's password")
        return self.instance.secret.secret_arn

    def grant_connect(self, function: iam.IGrantable) -> None:
        """Let a function log in as the role `app`."""
        if self.proxy:
            self.proxy.grant_connect(function, ROLE)
        else:
            self.instance.grant_connect(function, ROLE)

    def metric(self, name: str, statistic: str) -> cw.Metric:
        """Return a metric of the instance, by five minutes."""
        return self.instance.metric(name, statistic=statistic, period=cdk.Duration.minutes(5))

    def proxy_metric(self, name: str, statistic: str) -> cw.Metric | None:
        """Return a metric of the proxy where there is one."""
        if self.proxy is None:
            return None
        return cw.Metric(
            namespace="AWS/RDS",
            metric_name=name,
            dimensions_map={"ProxyName": self.proxy.db_proxy_name},
            statistic=statistic,
            period=cdk.Duration.minutes(5),
        )

    def _make_proxy(self, network: Network) -> rds.DatabaseProxy:
        role = iam.Role(
            self,
            "ProxyRole",
            assumed_by=iam.ServicePrincipal("rds.amazonaws.com"),
            description="What the proxy logs in to the database with",
        )
        # The proxy logs in as the function did. Its own role is granted nothing by the CDK.
        self.instance.grant_connect(role, ROLE)
        return rds.DatabaseProxy(
            self,
            "Proxy",
            proxy_target=rds.ProxyTarget.from_instance(self.instance),
            vpc=network.vpc,
            vpc_subnets=network.function_subnets,
            security_groups=[network.database],
            default_auth_scheme=rds.DefaultAuthScheme.IAM_AUTH,
            role=role,
            require_tls=True,
            # A customer waits: rather 503 at once than an answer after two minutes.
            borrow_timeout=cdk.Duration.seconds(2),
            max_connections_percent=90,
            max_idle_connections_percent=30,
        )

    def _restore(self, snapshot: str) -> None:
        # A snapshot brings its database, owner and engine along, and CloudFormation refuses to hear them again.
        resource = cast("rds.CfnDBInstance", self.instance.node.default_child)
        resource.add_property_override("DBSnapshotIdentifier", snapshot)
        for name in ("DBName", "MasterUsername"):
            resource.add_property_deletion_override(name)
