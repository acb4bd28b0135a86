"""The migrator: runs in each deploy that changes it, after the database and before every other function."""

import aws_cdk as cdk
from aws_cdk import triggers
from constructs import Construct

from infra.acknowledgements import acknowledge
from infra.build import Build
from infra.database import Database
from infra.function import ShopFunction
from infra.layer import SharedLayer
from infra.network import Network
from infra.stage import Stage
from skincare.deployment import functions


class Migrator(Construct):
    """A function that the deploy calls. Its failure rolls the deploy back, before any other function changes.

    It belongs to the Data stack: the other stacks are deployed after it.
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
        database: Database,
    ) -> None:
        super().__init__(scope, construct_id)
        self.function = ShopFunction(
            self,
            "Run",
            stage=stage,
            build=build,
            layer=layer,
            network=network,
            spec=functions.MIGRATOR,
            environment={"DATABASE_URL": database.owner_url, "DATABASE_SECRET_ID": database.owner_secret},
        )
        acknowledge(
            self.function.function, "Serverless-LambdaDLQ", "The deploy waits for its answer; nothing is queued."
        )
        self.trigger = triggers.Trigger(
            self,
            "Trigger",
            handler=self.function.function,
            timeout=cdk.Duration.seconds(int(functions.MIGRATOR.timeout.total_seconds())),
            # With its way there: a rule of a security group may come later than the instance.
            execute_after=[database, network],
        )
