"""What AWS answers when something of it fails, as its clients would see it."""

import json

from werkzeug import Request, Response

from emulator.switches import Fault, Switches

SEND_EMAIL = "/v2/email/outbound-emails"
_SQS = "AmazonSQS."


def fault_of(request: Request, switches: Switches) -> Response | None:
    """Return the failure that a call meets, None where its service is well."""
    if request.path == SEND_EMAIL:
        if switches.is_on(Fault.MAIL_DOWN):
            return _failure(503, "ServiceUnavailableException")
        if switches.is_on(Fault.MAIL_THROTTLED):
            return _failure(429, "TooManyRequestsException")
    elif request.headers.get("X-Amz-Target", "").startswith(_SQS) and switches.is_on(Fault.SQS_DOWN):
        return _failure(503, "ServiceUnavailable")
    return None


def _failure(status: int, code: str) -> Response:
    body = json.dumps({"__type": code, "message": "switched off on purpose"})
    return Response(body, status, headers={"x-amzn-ErrorType": code}, content_type="application/x-amz-json-1.0")
