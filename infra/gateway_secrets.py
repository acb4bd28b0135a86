"""The secrets of payment gateways: made empty, filled by a person (docs/deploy.md, "Fill the secrets")."""

from collections.abc import Mapping

import aws_cdk as cdk
from aws_cdk import aws_secretsmanager as secretsmanager
from constructs import Construct

from infra.acknowledgements import acknowledge
from infra.stage import Stage


class GatewaySecrets(Construct):
    """One secret per gateway, named `skincare/<stage>/webhooks/<gateway>`."""

    def __init__(self, scope: Construct, construct_id: str, *, stage: Stage) -> None:
        super().__init__(scope, construct_id)
        self.by_gateway = {gateway: self._secret(stage, gateway) for gateway in stage.gateways}

    @property
    def environment(self) -> Mapping[str, str]:
        """The variables that tell a function which secrets to read."""
        return {
            f"WEBHOOK_SECRET_ID_{gateway.upper()}": secret.secret_arn for gateway, secret in self.by_gateway.items()
        }

    @property
    def arns(self) -> list[str]:
        return [secret.secret_arn for secret in self.by_gateway.values()]

    def _secret(self, stage: Stage, gateway: str) -> secretsmanager.Secret:
        secret = secretsmanager.Secret(
            self,
            "".join(word.capitalize() for word in gateway.split("_")),
            secret_name=f"skincare/{stage.name}/webhooks/{gateway}",
            description=f"What {gateway} signs its webhooks with",
            removal_policy=cdk.RemovalPolicy.RETAIN if stage.keep_data else cdk.RemovalPolicy.DESTROY,
        )
        acknowledge(secret, "AwsSolutions-SMG4", "The gateway makes this secret; a person changes it at both ends.")
        return secret
