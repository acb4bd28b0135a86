"""An AWS service that speaks the AWS JSON protocol 1.0, called without the SDK.

For calls that a customer waits for: signing and sending them so takes a tenth of the SDK's time (decision 0022).
It leaves out what these need not: retries, proxies, redirects, and looking for credentials.
Source: "AWS JSON 1.0 protocol" in the Smithy documentation.
"""

import json
from dataclasses import dataclass
from datetime import UTC, datetime

from skincare.adapters.sigv4 import signed_headers
from skincare.config import AwsKeys
from skincare.http_client import Answer, HttpClient, Timeouts

LONGEST_ANSWER = 262_144
"""Bytes; SQS answers ten entries with three thousand."""


@dataclass(frozen=True)
class Origin:
    """Where a service is; `scheme` is http or https."""

    scheme: str
    host: str
    """With its port, where that is not the usual one."""
    service: str
    region: str


class JsonApi:
    """Calls one service, each time once. Safe to use from many threads.

    A kept connection that the service closes before a byte of the answer is replaced and the call sent again, so what
    is sent may be acted upon twice: this is for operations that bear that, as sending a message does.
    """

    def __init__(self, origin: Origin, *, keys: AwsKeys, timeouts: Timeouts) -> None:
        """A call takes no longer than both of the timeouts, however slowly its answer comes."""
        self.origin = origin
        self._keys = keys
        self._longest_call_s = (timeouts.connect + timeouts.read).total_seconds()
        self._http = HttpClient(
            f"{origin.scheme}://{origin.host}", timeouts=timeouts, longest_answer=LONGEST_ANSWER, resends=True
        )

    def post(self, operation: str, request: object) -> Answer:
        """Call an operation, named like "AmazonSQS.SendMessageBatch". Raises `NoAnswer`."""
        body = json.dumps(request).encode()
        headers = signed_headers(
            {
                "content-type": "application/x-amz-json-1.0",
                "host": self.origin.host,
                "x-amz-target": operation,
                # SQS then tells the code of an error by the name it had before there was this protocol.
                "x-amzn-query-mode": "true",
            },
            body,
            service=self.origin.service,
            region=self.origin.region,
            keys=self._keys,
            now=datetime.now(UTC),
        )
        return self._http.send("POST", "/", body, headers, within=self._longest_call_s)
