"""What the functions ask of AWS, in the words of IAM: a record kept in front of moto."""

import io
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, unquote
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from werkzeug import Request, Response

from tests.infra.templates import ACCOUNT, REGION

_KEY = re.compile(r"Credential=([^/,]+)/")

# SQS asks for the permission of the single call whichever way messages are sent.
_SINGLE = {
    "SendMessageBatch": "SendMessage",
    "DeleteMessageBatch": "DeleteMessage",
    "ChangeMessageVisibilityBatch": "ChangeMessageVisibility",
}

_OBJECT = {"GET": "GetObject", "HEAD": "GetObject", "PUT": "PutObject", "DELETE": "DeleteObject"}


@dataclass(frozen=True, order=True)
class Call:
    """One thing that was done: by whom (the name of a function), the action, and the ARN that it was done to."""

    who: str
    action: str
    resource: str


class RecordedAws:
    """moto, and who called what. A function is known by its access key.

    `refuse_mails` makes SES refuse to send, and `hide_identities` makes it know of no sender.
    """

    def __init__(self, moto: WSGIApplication, *, identity: str) -> None:
        self._moto = moto
        self._identity = identity
        self.calls: list[Call] = []
        self.unread: list[str] = []
        """Requests of functions that this record has no words for."""
        self.refuse_mails = False
        self.hide_identities = False

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        request = Request(environ)
        body = request.get_data()
        environ["wsgi.input"] = io.BytesIO(body)
        who = _who(request)
        done = list(self._read(who, request, body))
        self.calls += done
        if not done:
            self.unread.append(f"{who}: {request.method} {request.path} {request.headers.get('X-Amz-Target', '')}")
        if self.refuse_mails and request.path == "/v2/email/outbound-emails":
            return _error(400, "MessageRejected")(environ, start_response)
        if self.hide_identities and request.path.startswith("/v2/email/identities/"):
            return _error(404, "NotFoundException")(environ, start_response)
        return self._moto(environ, start_response)

    def _read(self, who: str, request: Request, body: bytes) -> Iterator[Call]:
        target = request.headers.get("X-Amz-Target", "")
        service, _, operation = target.partition(".")
        if service == "AmazonSQS":
            queue = str(json.loads(body).get("QueueUrl", "")).rpartition("/")[2]
            action = f"sqs:{_SINGLE.get(operation, operation)}"
            yield Call(who, action, f"arn:aws:sqs:{REGION}:{ACCOUNT}:{queue}")
        elif service == "secretsmanager":
            yield Call(who, f"secretsmanager:{operation}", str(json.loads(body).get("SecretId")))
        elif request.path.startswith("/v2/email/"):
            yield from self._mail(who, request, body)
        elif "/s3/aws4_request" in request.headers.get("Authorization", "") + unquote(request.query_string.decode()):
            bucket, _, key = unquote(request.path.lstrip("/")).partition("/")
            yield Call(who, f"s3:{_OBJECT[request.method]}", f"arn:aws:s3:::{bucket}/{key}")

    def _mail(self, who: str, request: Request, body: bytes) -> Iterator[Call]:
        place = f"arn:aws:ses:{REGION}:{ACCOUNT}"
        match [request.method, *request.path.removeprefix("/v2/email/").split("/")]:
            case ["POST", "outbound-emails"]:
                message: dict[str, Any] = json.loads(body)
                resources = [f"{place}:identity/{self._identity}"]
                if name := message.get("ConfigurationSetName"):
                    resources.append(f"{place}:configuration-set/{name}")
                # A mail that we formatted ourselves: SES asks for the older action's permission too.
                actions = ["SendEmail", *(["SendRawEmail"] if "Raw" in message["Content"] else [])]
                yield from (Call(who, f"ses:{action}", resource) for action in actions for resource in resources)
            case ["GET", "identities", name]:
                yield Call(who, "ses:GetEmailIdentity", f"{place}:identity/{unquote(name)}")
            case ["GET", "configuration-sets", name]:
                yield Call(who, "ses:GetConfigurationSet", f"{place}:configuration-set/{unquote(name)}")
            case ["GET", "account"]:
                yield Call(who, "ses:GetAccount", "*")


def _error(status: int, kind: str) -> Response:
    return Response(json.dumps({"message": kind}), status, headers={"x-amzn-ErrorType": kind})


def _who(request: Request) -> str:
    if match := _KEY.search(request.headers.get("Authorization", "")):
        return match[1]
    (credential,) = parse_qs(request.query_string.decode()).get("X-Amz-Credential", ["nobody/"])
    return credential.partition("/")[0]
