"""An SQS that takes every message and keeps none, as fast as Python can, in a process of its own.

It speaks what boto3 does (AWS JSON protocol 1.0: SendMessage, SendMessageBatch), and answers a mail to SES's
SendEmail, too. The test double of the tests would be most of the time that is measured.
"""

import contextlib
import json
import socket
from collections.abc import Iterator
from hashlib import md5
from typing import Any

from bench.service import service


@contextlib.contextmanager
def stub_sqs() -> Iterator[str]:
    """Yield the address of the service."""
    with service(_talk) as port:
        yield f"http://127.0.0.1:{port}"


def _talk(connection: socket.socket) -> None:
    with connection, contextlib.suppress(OSError):
        buffer = b""
        while data := connection.recv(1 << 20):
            buffer += data
            while (request := _take_request(buffer)) is not None:
                body, expects, buffer = request
                if expects:
                    connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
                answer = json.dumps(answer_to(json.loads(body))).encode()
                connection.sendall(
                    b"HTTP/1.1 200 OK\r\ncontent-type: application/x-amz-json-1.0\r\ncontent-length: %d\r\n\r\n%s"
                    % (len(answer), answer)
                )


def _take_request(buffer: bytes) -> tuple[bytes, bool, bytes] | None:
    """Return body, whether it waits for a 100, and what follows; None while it is not all there."""
    head, end, rest = buffer.partition(b"\r\n\r\n")
    if not end:
        return None
    length = 0
    for line in head.lower().split(b"\r\n")[1:]:
        if line.startswith(b"content-length:"):
            length = int(line[15:])
    if len(rest) < length:
        return None
    return rest[:length], b"expect: 100-continue" in head.lower(), rest[length:]


def answer_to(request: dict[str, Any]) -> dict[str, Any]:
    """Return what SQS answers to a request with or without `Entries`."""
    if "Entries" not in request:
        return {"MessageId": "m", **_digest(request.get("MessageBody", ""))}
    return {
        "Successful": [
            {"Id": entry["Id"], "MessageId": entry["Id"], **_digest(entry["MessageBody"])}
            for entry in request["Entries"]
        ],
        "Failed": [],
    }


def _digest(body: str) -> dict[str, str]:
    return {"MD5OfMessageBody": md5(body.encode(), usedforsecurity=False).hexdigest()}
