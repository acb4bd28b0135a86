"""Where invoices are kept, and exports of customers for a week."""

import aws_cdk as cdk
from aws_cdk import aws_s3 as s3
from constructs import Construct

from infra.acknowledgements import acknowledge
from infra.stage import Stage


class InvoiceBucket(Construct):
    """A private, encrypted bucket that keeps what was overwritten or deleted for another 90 days."""

    def __init__(self, scope: Construct, construct_id: str, *, stage: Stage) -> None:
        super().__init__(scope, construct_id)
        self.bucket = s3.Bucket(
            self,
            "Bucket",
            encryption=s3.BucketEncryption.S3_MANAGED,
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            object_ownership=s3.ObjectOwnership.BUCKET_OWNER_ENFORCED,
            enforce_ssl=True,
            minimum_tls_version=1.2,
            versioned=True,
            lifecycle_rules=[
                s3.LifecycleRule(
                    abort_incomplete_multipart_upload_after=cdk.Duration.days(1),
                    noncurrent_version_expiration=cdk.Duration.days(90),
                    transitions=[
                        s3.Transition(
                            storage_class=s3.StorageClass.INTELLIGENT_TIERING,
                            transition_after=cdk.Duration.days(30),
                        )
                    ],
                ),
                s3.LifecycleRule(
                    prefix="exports/",
                    expiration=cdk.Duration.days(7),
                    noncurrent_version_expiration=cdk.Duration.days(1),
                ),
            ],
            removal_policy=cdk.RemovalPolicy.RETAIN if stage.keep_data else cdk.RemovalPolicy.DESTROY,
        )
        acknowledge(
            self.bucket, "AwsSolutions-S1", "Two functions have access, and each logs what it stores and hands out."
        )
