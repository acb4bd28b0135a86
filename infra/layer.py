"""The layer that all functions share."""

from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from infra.build import Build


class SharedLayer(Construct):
    """Locked third-party packages and the package `skincare`. Each stack has its own, so that it deploys apart."""

    def __init__(self, scope: Construct, construct_id: str, *, build: Build) -> None:
        super().__init__(scope, construct_id)
        self.version = lambda_.LayerVersion(
            self,
            "Version",
            code=build.layer_code(),
            description="skincare and its third-party packages",
            compatible_runtimes=[lambda_.Runtime.PYTHON_3_13],
            compatible_architectures=[build.lambda_architecture],
        )
