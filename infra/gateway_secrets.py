"""The secrets of payment gateways: made empty, filled by a person (docs/deploy.md, "Fill the secrets")."""

from collections.abc import Iterable, Mapping

import aws_cdk as cdk
from aws_cdk import aws_secretsmanager as secretsmanager
from constructs import Construct

from infra.acknowledgements import acknowledge
from infra.stage import Stage
from skincare.payments.gateways import GATEWAYS


class GatewaySecrets(Construct):
    """One secret per gateway, named `skincare/<stage>/webhooks/<gateway>`, and one more where its API has its own.

    `asked` are the names of those that gateways are asked with; the address of such a gateway is known.
    """

    def __init__(self, scope: Construct, construct_id: str, *, stage: Stage) -> None:
        super().__init__(scope, construct_id)
        self.asked = [
            key for name in stage.gateways if name in stage.gateway_urls and (key := GATEWAYS[name].asked_with)
        ]
        names = dict.fromkeys((*stage.gateways, *self.asked))
        self._by_name = {name: self._secret(stage, name) for name in names}

    def environment(self, names: Iterable[str] | None = None) -> Mapping[str, str]:
        """Return the variables that tell a function which secrets to read: all of them, or these."""
        chosen = self._by_name if names is None else names
        return {f"WEBHOOK_SECRET_ID_{name.upper()}": self._by_name[name].secret_arn for name in chosen}

    def arns(self, names: Iterable[str] | None = None) -> list[str]:
        """Return the ARNs of all secrets, or of these."""
        return [self._by_name[name].secret_arn for name in (self._by_name if names is None else names)]

    def _secret(self, stage: Stage, gateway: str) -> secretsmanager.Secret:
        secret = secretsmanager.Secret(
            self,
            "".join(word.capitalize() for word in gateway.split("_")),
            secret_name=f"skincare/{stage.name}/webhooks/{gateway}",
            description=f"What the shop and {gateway} know each other by",
            removal_policy=cdk.RemovalPolicy.RETAIN if stage.keep_data else cdk.RemovalPolicy.DESTROY,
        )
        acknowledge(secret, "AwsSolutions-SMG4", "The gateway makes this secret; a person changes it at both ends.")
        return secret
