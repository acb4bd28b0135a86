"""Whether the local system is ready, asked part by part."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any
from wsgiref.types import WSGIEnvironment
from wsgiref.util import setup_testing_defaults

from botocore.exceptions import BotoCoreError, ClientError
from werkzeug import Request

from emulator.aws.mailbox import MAILS
from emulator.functions.function import Function, InvocationFailed
from emulator.gateway.http_event import GatewayRequest, MalformedAnswer, response_from
from emulator.loopback.client import LoopbackClient
from local.queues import missing_queues
from local.workers import queues_without_worker
from skincare.adapters.aws import AwsSession, Timeouts

_TIMEOUT = timedelta(seconds=5)
_QUICK = Timeouts(connect=timedelta(seconds=1), read=timedelta(seconds=3))


class Checks:
    """Asks the API function, the queues and the workers of a running system."""

    def __init__(self, api: Function, *, aws: AwsSession, aws_endpoint_url: str, presence: Path) -> None:
        self._api = api
        self._aws = aws
        self._aws_client = LoopbackClient(aws_endpoint_url)
        self._presence = presence

    def missing(self, *, with_workers: bool = True) -> list[str]:
        """Return the parts that are not ready, in words."""
        missing = [*self._api_and_database(), *self._queues()]
        if with_workers:
            missing += [f"worker of {queue}" for queue in queues_without_worker(self._presence)]
        return missing

    def mails(self) -> list[dict[str, Any]]:
        """Return what SES sent, newest first."""
        mails: list[dict[str, Any]] = self._aws_client.get(MAILS).body
        return mails

    def _api_and_database(self) -> list[str]:
        """Ask the function's own health route, which speaks for itself and its database."""
        environ: WSGIEnvironment = {"PATH_INFO": "/health"}
        setup_testing_defaults(environ)
        request = GatewayRequest(Request(environ), b"", "GET /health", None, None)
        try:
            answer = self._api.invoke(json.dumps(request.event()).encode(), timeout=_TIMEOUT)
            status = response_from(answer).status_code
        except (InvocationFailed, MalformedAnswer):
            return ["api"]
        return {200: [], 503: ["database"]}.get(status, ["api"])

    def _queues(self) -> list[str]:
        try:
            return [f"queue {name}" for name in missing_queues(self._aws.client("sqs", _QUICK))]
        except (BotoCoreError, ClientError):
            return ["queues"]
