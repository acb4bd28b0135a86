"""What infra creates on AWS, created on the local one: queues, a sender, secrets of payment gateways, a bucket."""

import json
from datetime import timedelta

from emulator.settings import REGION
from local.functions import INVOICE_BUCKET, MAIL_FROM
from local.queues import create_queues
from local.state import Secrets
from local.webhook_secrets import create_secrets, secret_id, secret_names, webhook_secret
from skincare.adapters.aws import AwsSession, Timeouts

# The first call waits until the server has imported the service.
_STARTING = Timeouts(connect=timedelta(seconds=5), read=timedelta(seconds=60))


def prepare(aws: AwsSession, secrets: Secrets) -> None:
    """Create all of it; waits until the server answers."""
    create_queues(aws.client("sqs", _STARTING))
    aws.client("sesv2", _STARTING).create_email_identity(EmailIdentity=MAIL_FROM)
    create_secrets(
        aws.client("secretsmanager", _STARTING),
        {secret_id(gateway): json.dumps({"secrets": [webhook_secret(secrets, gateway)]}) for gateway in secret_names()},
    )
    s3 = aws.client("s3", _STARTING)
    s3.create_bucket(Bucket=INVOICE_BUCKET, CreateBucketConfiguration={"LocationConstraint": REGION})
    # A page that follows the API's link reads the file from another origin than its own.
    rule = {"AllowedMethods": ["GET"], "AllowedOrigins": ["*"], "AllowedHeaders": ["*"]}
    s3.put_bucket_cors(Bucket=INVOICE_BUCKET, CORSConfiguration={"CORSRules": [rule]})
