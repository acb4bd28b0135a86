"""Files in Amazon S3."""

from datetime import timedelta
from typing import TYPE_CHECKING

from skincare.adapters.aws import AwsSession, Timeouts
from skincare.config import require
from skincare.invoices.ports import ObjectStoreUnavailable

if TYPE_CHECKING:
    from types_boto3_s3 import S3Client

_TIMEOUTS = Timeouts(connect=timedelta(seconds=2), read=timedelta(seconds=5))

# What PutObject answers where "if absent" does not hold ("Conditional writes" in the S3 user guide).
_PRESENT = "PreconditionFailed"


class S3ObjectStore:
    """Matches `skincare.invoices.ports.ObjectStore`. A link is signed here and asks nobody.

    A link also ends with the credentials that signed it, in Lambda after some hours.
    """

    def __init__(self, bucket: str | None, *, aws: AwsSession) -> None:
        """Most functions keep no files: a missing `bucket` is a `ConfigurationError` of the first use."""
        self._bucket = bucket
        self._aws = aws

    def put_if_absent(self, key: str, content: bytes, *, content_type: str) -> bool:
        """Keep a file unless there is one with this key; raises `ObjectStoreUnavailable`."""
        from botocore.exceptions import BotoCoreError, ClientError

        bucket = require(self._bucket, "INVOICE_BUCKET")
        try:
            self._client().put_object(Bucket=bucket, Key=key, Body=content, ContentType=content_type, IfNoneMatch="*")
        except ClientError as error:
            code = error.response.get("Error", {}).get("Code", "unknown")
            if code == _PRESENT:
                return False
            raise ObjectStoreUnavailable(f"the object store refused a file ({code})") from error
        except BotoCoreError as error:
            raise ObjectStoreUnavailable(f"the object store does not answer ({type(error).__name__})") from error
        return True

    def link(self, key: str, *, filename: str, expires_in: timedelta) -> str:
        """Return a link to a file; raises `ObjectStoreUnavailable` where nothing can be signed."""
        from botocore.exceptions import BotoCoreError

        bucket = require(self._bucket, "INVOICE_BUCKET")
        try:
            return self._client().generate_presigned_url(
                "get_object",
                Params={
                    "Bucket": bucket,
                    "Key": key,
                    "ResponseContentDisposition": f'inline; filename="{filename}"',
                },
                ExpiresIn=int(expires_in.total_seconds()),
            )
        except BotoCoreError as error:
            raise ObjectStoreUnavailable(f"no link can be signed ({type(error).__name__})") from error

    def _client(self) -> "S3Client":
        client: S3Client = self._aws.client("s3", _TIMEOUTS)
        return client
