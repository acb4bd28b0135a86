"""What infra creates on AWS, created on the local one: queues and a verified sender."""

from datetime import timedelta

from local.functions import MAIL_FROM
from local.queues import create_queues
from skincare.adapters.aws import AwsSession, Timeouts

# The first call waits until the server has imported the service.
_STARTING = Timeouts(connect=timedelta(seconds=5), read=timedelta(seconds=60))


def prepare(aws: AwsSession) -> None:
    """Create the queues and verify the sender; waits until the server answers."""
    create_queues(aws.client("sqs", _STARTING))
    aws.client("sesv2", _STARTING).create_email_identity(EmailIdentity=MAIL_FROM)
