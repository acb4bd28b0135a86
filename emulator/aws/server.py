"""AWS on this machine: a moto server with SQS, SES, Secrets Manager and S3, in a process of its own.

`python -m emulator.aws.server <listening socket> <mailbox file> <folder of the switches> <folder of the files>`, the
socket as the number of its descriptor.
"""

import io
import json
import select
import socket
import sys
import traceback
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from moto.moto_server.werkzeug_app import MotoRequestHandler
from moto.sqs.models import sqs_backends
from werkzeug import Request, Response
from werkzeug.serving import make_server

from emulator.aws import fast_paths as aws_fast_paths
from emulator.aws import lock as aws_lock
from emulator.aws.fast_paths import Dispatcher
from emulator.aws.faults import SEND_EMAIL, fault_of
from emulator.aws.files import KeptFiles
from emulator.aws.mailbox import MAILS, Mailbox
from emulator.loopback.callers import why_refused
from emulator.settings import ACCOUNT_ID, LOOPBACK, REGION
from emulator.switches import Switches

_CONTROLS = "/moto-api"
_RECEIVE = "AmazonSQS.ReceiveMessage"


class LocalAws:
    """moto, and what it lacks: a mailbox, failures, and an SQS that notices when a consumer has gone away."""

    def __init__(self, moto: WSGIApplication, mailbox: Mailbox, *, switches: Switches, files: KeptFiles) -> None:
        self._moto = moto
        self._mailbox = mailbox
        self._switches = switches
        self._files = files

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        request = Request(environ)
        if answer := self._refusal(request) or fault_of(request, self._switches):
            return answer(environ, start_response)
        if request.path == MAILS:
            mails = json.dumps(self._mailbox.newest_first())
            return Response(mails, content_type="application/json")(environ, start_response)
        if self._files.holds(request):
            return self._files.answer(request)(environ, start_response)
        if request.path != SEND_EMAIL and request.headers.get("X-Amz-Target") != _RECEIVE:
            return self._moto(environ, start_response)
        body = request.get_data()
        environ["wsgi.input"] = io.BytesIO(body)
        response = Response.from_app(self._moto, environ, buffered=True)
        if response.status_code == 200 and request.path == SEND_EMAIL:
            self._mailbox.record(json.loads(body))
        elif response.status_code == 200:
            # Switched off while the receive waited for a message.
            fault = fault_of(request, self._switches)
            if fault or _has_gone(environ["werkzeug.socket"]):
                _give_back(json.loads(body), json.loads(response.data))
            response = fault or response
        return response(environ, start_response)

    def _refusal(self, request: Request) -> Response | None:
        # moto asks for no signature: a web page could send it whatever a program may.
        if (reason := why_refused(request.headers.get)) and not _is_a_link_to_a_file(request):
            return Response(reason, 403)
        # moto's own controls, which forget everything; nothing of ours uses them.
        if request.path.startswith(_CONTROLS):
            return Response("there is nothing here", 404)
        return None


class _QuietHandler(MotoRequestHandler):
    """Keeps a connection open after an answer, as AWS does; werkzeug's own closes it, and each costs a thread."""

    disable_nagle_algorithm = True
    wbufsize = -1

    def run_wsgi(self) -> None:
        """Answer a request with a plain body in one packet; anything else in werkzeug's way, which closes."""
        length = self.headers.get("Content-Length", "0")
        if self.command not in {"GET", "POST"} or "Transfer-Encoding" in self.headers or not _is_length(length):
            super().run_wsgi()
            return
        if self.headers.get("Expect", "").lower() == "100-continue":
            self.wfile.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            self.wfile.flush()
        body = self.rfile.read(int(length))
        self.environ = environ = self.make_environ()
        environ["wsgi.input"] = io.BytesIO(body)
        try:
            response = Response.from_app(self.server.app, environ, buffered=True)
        except Exception:  # noqa: BLE001  the caller is answered, whatever it is
            self.server.log("error", "%s", traceback.format_exc())
            response = Response("", 500)
        content = response.get_data()
        self.send_response(response.status_code, response.status.partition(" ")[2])
        for name, value in response.headers:
            if name.lower() not in {"content-length", "transfer-encoding", "connection"}:
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
        self.wfile.flush()

    def log(self, type: str, message: str, *args: Any) -> None:
        """Say nothing: a line per call would hide what matters."""


def _is_length(text: str) -> bool:
    return text.isascii() and text.isdigit()


def _is_a_link_to_a_file(request: Request) -> bool:
    """Tell whether a browser follows a link to one object of a bucket, as it may from any page."""
    parts = request.path.strip("/").split("/")
    return (
        request.host.partition(":")[0] in {LOOPBACK, "localhost"}
        and request.method in {"GET", "HEAD", "OPTIONS"}
        and "X-Amz-Signature" in request.args
        and len(parts) > 1
        and not request.path.startswith((_CONTROLS, MAILS))
    )


def _has_gone(connection: socket.socket) -> bool:
    """Tell whether the consumer closed its end while the receive waited for a message."""
    try:
        readable, _, _ = select.select([connection], [], [], 0)
        return bool(readable) and not connection.recv(1, socket.MSG_PEEK)
    except OSError:
        return True


def _give_back(request: dict[str, Any], answer: dict[str, Any]) -> None:
    """Make messages visible at once that nobody will get.

    SQS delivers to a consumer that is there; moto would hide them for the whole visibility timeout because a
    worker was killed while it waited.
    """
    backend = sqs_backends[ACCOUNT_ID][REGION]
    queue_name = request["QueueUrl"].rpartition("/")[2]
    for message in answer.get("Messages", []):
        backend.change_message_visibility(queue_name, message["ReceiptHandle"], 0)


def main(descriptor: str, mailbox_file: str, switches_folder: str, files_folder: str) -> None:
    """Serve until killed."""
    aws_fast_paths.install()
    aws_lock.install()
    listener = socket.socket(fileno=int(descriptor))
    port = listener.getsockname()[1]
    moto = Dispatcher()
    app = LocalAws(
        moto,
        Mailbox(Path(mailbox_file)),
        switches=Switches(Path(switches_folder)),
        files=KeptFiles(moto, Path(files_folder)),
    )
    make_server(LOOPBACK, port, app, threaded=True, request_handler=_QuietHandler, fd=listener.fileno()).serve_forever()


if __name__ == "__main__":
    main(*sys.argv[1:])
