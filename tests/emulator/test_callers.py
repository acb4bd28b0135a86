"""No web page reaches a server of the local system, whatever it asks of whichever server."""

import http.client
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug import Request, Response
from werkzeug.serving import make_server

from emulator.aws.files import KeptFiles
from emulator.aws.mailbox import Mailbox
from emulator.aws.server import LocalAws, _QuietHandler
from emulator.functions.invocations import Invocations
from emulator.functions.runtime_api import RuntimeApi
from emulator.gateway.gateway import Gateway
from emulator.log.logbook import LogBook
from emulator.switches import Switches
from tests.emulator.example_api import API, TOKENS


@dataclass
class Server:
    """One of them; `seen` are the requests that got past its door, where that can be told."""

    address: str
    seen: list[str]

    def call(self, method: str, path: str, headers: dict[str, str], body: bytes = b"") -> int:
        connection = http.client.HTTPConnection(self.address, timeout=20)
        try:
            connection.request(method, path, body, headers)
            return connection.getresponse().status
        finally:
            connection.close()


class NoFunction:
    def invoke(self, payload: bytes, *, timeout: timedelta, trace_id: str | None = None) -> bytes:
        raise AssertionError("the function was asked")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("callers")


@pytest.fixture(scope="module")
def servers(folder: Path) -> Iterator[dict[str, Server]]:
    log, seen = LogBook(folder, None), list[str]()
    runtime = RuntimeApi()
    invocations = Invocations({"f": NoFunction()}, secret_access_key="of a test", log=log)
    invocations.serve()

    def page(request: Request) -> Response:
        seen.append(request.path)
        return Response("{}")

    listener = socket.create_server(("127.0.0.1", 0))
    gateway = Gateway(
        NoFunction(),
        api=API,
        tokens=TOKENS,
        missing=list,
        mails=list,
        page=page,
        log=log,
    )
    gateway.open.set()
    gateway.serve(listener)
    moto = DomainDispatcherApplication(create_backend_app)
    aws = LocalAws(
        moto, Mailbox(folder / "mails"), switches=Switches(folder / "switches"), files=KeptFiles(moto, folder / "files")
    )
    aws_server = make_server("127.0.0.1", 0, aws, threaded=True, request_handler=_QuietHandler)
    thread = threading.Thread(target=aws_server.serve_forever, args=(0.05,))
    thread.start()
    yield {
        "runtime": Server(runtime.address, []),
        "invocations": Server(invocations.url.removeprefix("http://"), []),
        "aws": Server(f"127.0.0.1:{aws_server.port}", []),
        "gateway": Server(f"127.0.0.1:{listener.getsockname()[1]}", seen),
    }
    aws_server.shutdown()
    aws_server.server_close()
    thread.join()
    gateway.stop()
    listener.close()
    invocations.stop()
    runtime.close()
    log.close()


VISITS = {"Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
STRANGERS: dict[str, Callable[[str], dict[str, str]]] = {
    "a name of its own for this address": lambda _: {"Host": "evil.example.com"},
    "its port too": lambda address: {"Host": f"evil.example.com:{address.partition(':')[2]}"},
    "a page of elsewhere": lambda _: {"Origin": "http://evil.example.com", "Sec-Fetch-Site": "cross-site"},
    "a page of another port": lambda _: {"Origin": "http://localhost:3000", "Sec-Fetch-Site": "same-site"},
    "a sandboxed frame": lambda _: {"Origin": "null"},
    "a form without an origin": lambda _: {"Sec-Fetch-Site": "cross-site", **VISITS},
    "a picture": lambda _: {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"},
}
DOORS = {
    "runtime": ["/2018-06-01/runtime/invocation/next", "/2018-06-01/runtime/invocation/r-1/response"],
    "invocations": ["/2015-03-31/functions/f/invocations"],
    "aws": ["/", "/moto-api/reset", "/_local/mails", "/123456789012/a-queue", "/a-bucket/a.pdf"],
    "gateway": ["/_local/chaos", "/_local/pay/act", "/_local/token"],
}


@pytest.mark.parametrize("stranger", STRANGERS)
@pytest.mark.parametrize(("name", "path"), [(name, path) for name, paths in DOORS.items() for path in paths])
def test_a_web_page_is_refused_at_every_door(servers: dict[str, Server], name: str, path: str, stranger: str) -> None:
    server = servers[name]
    headers = STRANGERS[stranger](server.address)
    assert server.call("POST", path, {"Content-Type": "text/plain", **headers}, b"{}") == 403
    assert server.seen == []


@pytest.mark.parametrize("path", ["/moto-api/reset", "/moto-api/data.json", "/moto-api/"])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_nobody_makes_the_local_aws_forget(servers: dict[str, Server], method: str, path: str) -> None:
    assert servers["aws"].call(method, path, {}) == 404


class TestAPageThatMayCall:
    def test_is_the_local_systems_own(self, servers: dict[str, Server]) -> None:
        server = servers["gateway"]
        headers = {"Origin": f"http://{server.address}", "Sec-Fetch-Site": "same-origin"}
        assert server.call("POST", "/_local/chaos", headers) == 200
        server.seen.clear()

    def test_may_lead_a_person_here_from_elsewhere(self, servers: dict[str, Server]) -> None:
        server = servers["gateway"]
        headers = {"Sec-Fetch-Site": "cross-site", **VISITS}
        assert server.call("GET", "/_local/pay/?reference=x", headers) == 200
        server.seen.clear()

    def test_may_follow_a_link_to_one_file(self, servers: dict[str, Server]) -> None:
        headers = {"Origin": "http://localhost:3000", "Sec-Fetch-Site": "cross-site"}
        query = "?X-Amz-Signature=x&X-Amz-Credential=a/20260101/r/s3/aws4_request"
        assert servers["aws"].call("GET", f"/no-bucket/a.pdf{query}", headers) == 404
        assert servers["aws"].call("GET", f"/no-bucket{query}", headers) == 403
        assert servers["aws"].call("PUT", f"/no-bucket/a.pdf{query}", headers) == 403
