"""The function behind the on-call commands: the database is private, so the command line calls this."""

from collections.abc import Mapping

from constructs import Construct

from infra.acknowledgements import acknowledge
from infra.build import Build
from infra.function import ShopFunction
from infra.layer import SharedLayer
from infra.network import Network
from infra.stage import Stage
from skincare.deployment import functions

CONCURRENCY = 2


class Oncall(Construct):
    """Called by people whose IAM identity may invoke it, and by nothing else."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        stage: Stage,
        build: Build,
        layer: SharedLayer,
        network: Network,
        environment: Mapping[str, str],
    ) -> None:
        super().__init__(scope, construct_id)
        self.run = ShopFunction(
            self,
            "Run",
            stage=stage,
            build=build,
            layer=layer,
            network=network,
            spec=functions.ONCALL,
            environment=environment,
            reserved_concurrency=CONCURRENCY,
        )
        acknowledge(self.run.function, "Serverless-LambdaDLQ", "A person waits for its answer; nothing is queued.")
