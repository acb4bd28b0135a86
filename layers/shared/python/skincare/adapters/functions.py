"""Invokes Lambda functions, for people at a terminal: by IAM, on AWS or on the local system's endpoint."""

import json
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from skincare.adapters.aws import AwsSession, Timeouts
from skincare.errors import SkincareError

_TIMEOUTS = Timeouts(connect=timedelta(seconds=5), read=timedelta(seconds=70))
"""Longer than the on-call function's own timeout and a cold start."""

_ATTEMPTS = 3
"""Whatever is invoked here may be invoked again when its answer got lost."""


class FunctionUnreachable(SkincareError):
    """AWS, or the way to it, refused or did not answer; the message holds its error code only."""


class FunctionFailed(SkincareError):
    """The function was reached and gave no answer of its own."""


class LambdaFunctions:
    """The functions of one account and region, with the credentials of whoever types."""

    def __init__(self, aws: AwsSession) -> None:
        self._aws = aws

    def invoke(self, name: str, request: Mapping[str, Any]) -> Any:
        """Return the JSON that a function answers. Raises `FunctionUnreachable` and `FunctionFailed`."""
        answer = self._call("lambda", "invoke", FunctionName=name, Payload=json.dumps(request).encode())
        content = answer["Payload"].read()
        if "FunctionError" in answer:
            raise FunctionFailed(f"the function {name} failed ({answer['FunctionError']}): see its log")
        try:
            return json.loads(content)
        except ValueError:
            raise FunctionFailed(f"the function {name} answered with no JSON") from None

    def caller_identity(self) -> str:
        """Return the ARN of whoever calls, as STS tells it. Raises `FunctionUnreachable`."""
        return str(self._call("sts", "get_caller_identity")["Arn"])

    def _call(self, service: str, operation: str, **parameters: Any) -> Any:
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            client = self._aws.client(service, _TIMEOUTS, attempts=_ATTEMPTS)
            return getattr(client, operation)(**parameters)
        except ClientError as error:
            code = str(error.response.get("Error", {}).get("Code", "Unknown"))
        except BotoCoreError as error:
            code = type(error).__name__
        # Raised out here, so that no foreign error hangs on it as its context.
        raise FunctionUnreachable(f"{service} {operation} failed ({code})")
