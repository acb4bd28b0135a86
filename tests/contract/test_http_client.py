"""The HTTP client over a loopback port: when it gives up, and what it never does."""

import contextlib
import math
import socket
import time
from collections.abc import Iterator
from datetime import timedelta

import pytest

from skincare.http_client import Answer, HttpClient, NoAnswer, Timeouts
from tests.support.endless_service import endless
from tests.support.scripted_service import DEADLINE_S, Reply, ScriptedService, http

SECOND = timedelta(seconds=1)
TIMEOUTS = Timeouts(connect=SECOND, read=SECOND)
OK = http(200, b"ok")


@pytest.fixture
def service() -> Iterator[ScriptedService]:
    with ScriptedService() as service:
        yield service


def client(url: str, *, timeouts: Timeouts = TIMEOUTS, longest_answer: int = 1000, resends: bool = False) -> HttpClient:
    return HttpClient(url, timeouts=timeouts, longest_answer=longest_answer, resends=resends)


def get(client: HttpClient, *, within: float = math.inf) -> Answer:
    return client.send("GET", "/", None, {}, within=within)


def code_of(client: HttpClient, body: bytes | None = None, *, within: float = math.inf) -> str:
    with pytest.raises(NoAnswer) as none:
        client.send("POST", "/", body, {}, within=within)
    return none.value.code


@contextlib.contextmanager
def full() -> Iterator[tuple[str, int]]:
    """An address at which nobody accepts, and nobody refuses."""
    with socket.socket() as full, socket.socket() as first, socket.socket() as second:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        for waiting in (first, second):
            waiting.setblocking(False)
            waiting.connect_ex(full.getsockname())
        yield full.getsockname()


def addresses(monkeypatch: pytest.MonkeyPatch, *found: tuple[str, int]) -> None:
    """Let every name have these addresses."""
    known = [(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", address) for address in found]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: known)


def closed_port() -> tuple[str, int]:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        return closed.getsockname()  # type: ignore[no-any-return]


class TestTheTimeOfACall:
    @pytest.mark.parametrize(
        ("opening", "repeats", "every_s"),
        [
            (b"", b"H", 0.02),
            (b"HTTP/1.1 200 OK\r\n", b"x", 0.02),
            (b"", b"HTTP/1.1 100 Continue\r\n\r\n", 0.0),
            (b"HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\n", b"x", 0.02),
            (b"HTTP/1.1 200 OK\r\n\r\n", b"x", 0.02),
            (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n", 0.02),
            (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", b"x: y\r\n", 0.0),
        ],
        ids=["status line", "header", "100 Continue", "body", "body without an end", "chunks", "trailers"],
    )
    def test_ends_an_answer_however_it_goes_on(self, opening: bytes, repeats: bytes, every_s: float) -> None:
        with endless(opening=opening, repeats=repeats, every_s=every_s) as url:
            began = time.monotonic()
            assert code_of(client(url), within=0.3) == "Deadline"
            assert 0.25 < time.monotonic() - began < 1.5

    def test_ends_a_request_that_nobody_reads(self) -> None:
        with endless() as url:
            began = time.monotonic()
            assert code_of(client(url), bytes(30_000_000), within=0.3) == "Deadline"
            assert 0.25 < time.monotonic() - began < 1.5

    def test_is_shared_by_all_addresses_of_a_name(self, monkeypatch: pytest.MonkeyPatch) -> None:
        with full() as address:
            addresses(monkeypatch, *[address] * 20)
            began = time.monotonic()
            patient = client("http://api.example.com", timeouts=Timeouts(connect=SECOND / 5, read=SECOND))
            assert code_of(patient, within=0.5) == "Deadline"
            assert 0.45 < time.monotonic() - began < 1.5

    @pytest.mark.parametrize("left", [0, -1, -math.inf])
    def test_that_is_over_lets_nothing_be_sent(self, service: ScriptedService, left: float) -> None:
        service.replies = [OK]
        asker = client(service.url)
        assert code_of(asker, within=left) == "Deadline"
        assert service.connections == 0
        get(asker)
        assert code_of(asker, within=left) == "Deadline"
        assert len(service.requests) == 1

    def test_is_each_calls_own(self, service: ScriptedService) -> None:
        service.replies = [OK, OK]
        asker = client(service.url)
        get(asker, within=0.2)
        ended = time.monotonic() + 0.2
        while time.monotonic() < ended:
            pass
        assert get(asker, within=5).body == b"ok"
        assert service.connections == 1


class TestANameWithSeveralAddresses:
    def test_is_reached_by_the_first_that_lets_us_in(
        self, service: ScriptedService, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        service.replies = [OK]
        host, _, port = service.url.removeprefix("http://").partition(":")
        addresses(monkeypatch, closed_port(), (host, int(port)))
        assert get(client("http://api.example.com")).status == 200
        assert service.requests[0].headers["host"] == "api.example.com"

    @pytest.mark.parametrize("host", ["a..b", "x" * 64, "nowhere.invalid"])
    def test_that_has_none_is_no_answer(self, host: str) -> None:
        assert code_of(client(f"http://{host}:1")) == "EndpointConnectionError"


class TestAnAnswer:
    @pytest.mark.parametrize(
        ("reply", "code"),
        [
            (http(200, bytes(1001)), "AnswerTooLong"),
            (Reply(b"HTTP/1.1 200 OK\r\n\r\n" + bytes(1001), hang_up=True), "AnswerTooLong"),
            (http(200, b"x", {f"x-{number}": "y" for number in range(101)}), "ResponseStreamingError"),
            (http(200, b"x", {"x": "y" * 70_000}), "ResponseStreamingError"),
            (http(200, b"x", {"Content-Length": "2"}), "ReadTimeoutError"),
            (Reply(http(200, b"x", {"Content-Length": "2"}).content, hang_up=True), "ResponseStreamingError"),
            (Reply(b"SSH-2.0\r\n\r\n", hang_up=True), "ResponseStreamingError"),
            (Reply(hang_up=True), "ConnectionClosedError"),
            (Reply(), "ReadTimeoutError"),
        ],
    )
    def test_is_whole_and_within_its_limits_or_none(self, service: ScriptedService, reply: Reply, code: str) -> None:
        service.replies = [reply]
        assert code_of(client(service.url, timeouts=Timeouts(connect=SECOND, read=SECOND / 5))) == code
        assert len(service.requests) == 1

    def test_is_read_no_further_than_its_limit(self) -> None:
        with endless(opening=b"HTTP/1.1 200 OK\r\n\r\n", repeats=bytes(1000)) as url:
            assert code_of(client(url), within=5) == "AnswerTooLong"

    @pytest.mark.parametrize("status", [301, 302, 307, 308])
    def test_that_leads_elsewhere_is_handed_back(self, service: ScriptedService, status: int) -> None:
        service.replies = [http(status, b"", {"Location": service.url})]
        assert get(client(service.url)).status == status
        assert len(service.requests) == 1

    def test_does_not_come_from_a_proxy(self, service: ScriptedService, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
            monkeypatch.setenv(name, "http://{}:{}".format(*closed_port()))
        service.replies = [OK]
        assert get(client(service.url)).status == 200

    @pytest.mark.parametrize("text", ["canary\r\nx: y", "canary\n", "canary→"])
    def test_to_a_header_that_cannot_be_sent_is_none_and_does_not_quote_it(
        self, service: ScriptedService, text: str
    ) -> None:
        with pytest.raises(NoAnswer) as none:
            client(service.url).send("GET", "/", None, {"authorization": text})
        assert none.value.code == "InvalidHeader"
        assert none.value.__context__ is None
        assert service.connections == 0

    @pytest.mark.parametrize("target", ["/a b", "/a\r\nx: y", "/a HTTP/1.1\r\n\r\n", "/→"])
    def test_to_a_target_that_would_end_early_is_none(self, service: ScriptedService, target: str) -> None:
        with pytest.raises(NoAnswer, match="InvalidHeader"):
            client(service.url).send("GET", target, None, {})
        assert service.connections == 0


class TestAKeptConnection:
    @pytest.mark.parametrize(("resends", "requests"), [(False, 2), (True, 3)])
    def test_that_closes_as_it_is_used_has_its_request_sent_again_only_where_that_is_harmless(
        self, service: ScriptedService, *, resends: bool, requests: int
    ) -> None:
        service.replies = [OK, Reply(hang_up=True), OK]
        asker = client(service.url, resends=resends)
        get(asker)
        if resends:
            assert get(asker).status == 200
        else:
            assert code_of(asker) == "ConnectionClosedError"
        assert len(service.requests) == requests

    def test_that_was_closed_while_idle_is_replaced(self, service: ScriptedService) -> None:
        service.replies = [Reply(OK.content, hang_up=True), OK]
        asker = client(service.url)
        get(asker)
        service.hung_up.get(timeout=DEADLINE_S)
        assert get(asker).status == 200
        assert (service.connections, len(service.requests)) == (2, 2)

    @pytest.mark.parametrize("size", [3, 500_000], ids=["with the answer", "after it"])
    def test_answers_no_later_request_with_what_came_unasked(self, service: ScriptedService, size: int) -> None:
        service.replies = [Reply(OK.content + http(200, b"x" * size).content), OK]
        asker = client(service.url)
        get(asker)
        assert get(asker).body == b"ok"
