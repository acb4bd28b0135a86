"""Sending over a loopback port: what a service can do wrong, and that the SDK would make the same of it."""

import json
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from skincare import http_client
from skincare.adapters.aws import AwsSession
from skincare.adapters.json_api import LONGEST_ANSWER
from skincare.adapters.sqs import WHILE_A_CUSTOMER_WAITS, SqsQueue
from skincare.config import AwsKeys
from skincare.jobs.ports import EnqueueFailure, OutgoingMessage
from tests.support.endless_service import endless
from tests.support.log import RecordedLog, recorded_log
from tests.support.scripted_service import DEADLINE_S, Reply, ScriptedService, http
from tests.unit.adapters.test_sigv4 import of_botocore

REGION = "ap-southeast-3"
KEYS = AwsKeys("canary-id", "canary-secret", "canary-token")
TYPE = "com.amazonaws.sqs#"
HTML = b"<html>canary: bad gateway</html>"

type Outcome = list[tuple[int, str, bool]]


@pytest.fixture(autouse=True)
def for_the_sdk(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def log() -> Iterator[RecordedLog]:
    with recorded_log() as log:
        yield log


@pytest.fixture
def service() -> Iterator[ScriptedService]:
    with ScriptedService() as service:
        yield service


def direct(url: str, keys: AwsKeys = KEYS) -> SqsQueue:
    aws = AwsSession(url, keys=keys, region=REGION)
    return SqsQueue(f"{url}/111122223333/jobs", aws=aws, timeouts=WHILE_A_CUSTOMER_WAITS)


def through_sdk(url: str) -> SqsQueue:
    return SqsQueue(f"{url}/111122223333/jobs", aws=AwsSession(url), timeouts=WHILE_A_CUSTOMER_WAITS)


def send(queue: SqsQueue, count: int = 1) -> Outcome:
    failures: list[EnqueueFailure] = queue.enqueue([OutgoingMessage("body", {"trace": "t"})] * count)
    return [(failure.index, failure.code, failure.sender_fault) for failure in failures]


UNAVAILABLE: Outcome = [(0, "Unavailable", False)]


class TestARequest:
    def test_says_and_signs_what_the_sdk_does(self, service: ScriptedService) -> None:
        assert send(direct(service.url), 2) == send(through_sdk(service.url), 2) == []
        ours, theirs = service.requests
        assert ours.json == theirs.json
        for name in ("host", "content-type", "x-amz-target", "x-amzn-query-mode"):
            assert ours.headers[name] == theirs.headers[name]
        assert ours.headers["x-amz-security-token"] == "canary-token"
        signed = ours.headers["authorization"].partition("SignedHeaders=")[2].partition(",")[0].split(";")
        now = datetime.strptime(ours.headers["x-amz-date"], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
        asked = {name: ours.headers[name] for name in signed if name not in {"x-amz-date", "x-amz-security-token"}}
        expected = of_botocore(asked, ours.body, service="sqs", region=REGION, keys=KEYS, now=now)
        assert ours.headers["authorization"] == expected["authorization"]
        assert abs(datetime.now(UTC) - now) < timedelta(minutes=1)


def outage() -> Outcome:
    return [(index, "Unavailable", False) for index in range(12)]


def refused(code: str) -> Outcome:
    return [(index, code, False) for index in range(10)]


ANSWERS: dict[str, tuple[Reply, Outcome, int]] = {
    "refused as a whole": (http(400, {"__type": f"{TYPE}BatchRequestTooLong"}), refused("BatchRequestTooLong"), 2),
    "a code with a link": (http(400, {"__type": "AccessDenied:http://x/"}), refused("AccessDenied"), 2),
    "an older name": (
        http(
            400,
            {"__type": f"{TYPE}QueueDoesNotExist", "message": "canary"},
            {"x-amzn-query-error": "AWS.SimpleQueueService.NonExistentQueue;Sender"},
        ),
        refused("AWS.SimpleQueueService.NonExistentQueue"),
        2,
    ),
    "half an older name": (
        http(400, {"__type": f"{TYPE}InvalidSecurity"}, {"x-amzn-query-error": ";Sender"}),
        refused("InvalidSecurity"),
        2,
    ),
    "403 without a code": (http(403, {}), refused("403"), 2),
    "403 in HTML": (http(403, HTML), refused("403"), 2),
    "400 and nothing": (http(400, b""), refused("400"), 2),
    "a redirect": (http(302, HTML, {"Location": "http://127.0.0.1:9/"}), refused("302"), 2),
    "throttled": (http(400, {"__type": f"{TYPE}RequestThrottled"}), outage(), 1),
    "throttled by its key": (http(400, {"__type": f"{TYPE}KmsThrottled"}), outage(), 1),
    "throttled on the way": (http(429, HTML), outage(), 1),
    "500": (http(500, {"__type": f"{TYPE}InternalFailure"}), outage(), 1),
    "502 in HTML": (http(502, HTML), outage(), 1),
    "503 and nothing": (http(503, b""), outage(), 1),
    "hangs up": (Reply(hang_up=True), outage(), 1),
    "speaks no HTTP": (Reply(b"SSH-2.0-canary\r\n\r\n", hang_up=True), outage(), 1),
    "refused in part": (
        http(
            200,
            {
                "Successful": [{"Id": str(n)} for n in range(8)],
                "Failed": [
                    {"Id": "8", "Code": "InternalError", "SenderFault": False, "Message": "canary"},
                    {"Id": "9", "Code": "InvalidMessageContents", "SenderFault": True},
                ],
            },
        ),
        [(8, "InternalError", False), (9, "InvalidMessageContents", True)],
        2,
    ),
    "forgets some": (http(200, {"Successful": [{"Id": str(n)} for n in range(9)]}), [(9, "Unavailable", False)], 2),
    "no lists": (http(200, {}), refused("Unavailable"), 2),
}


class TestAnAnswer:
    @pytest.mark.parametrize("name", ANSWERS)
    @pytest.mark.parametrize("queue_at", [direct, through_sdk])
    def test_means_the_same_sent_either_way(self, service: ScriptedService, name: str, queue_at: Any) -> None:
        reply, outcome, requests = ANSWERS[name]
        service.replies.append(reply)
        assert send(queue_at(service.url), 12) == outcome
        assert len(service.requests) == requests

    @pytest.mark.parametrize(
        "body",
        [
            HTML,
            b"[]",
            b"\xff\xfe",
            b"",
            b"[" * 100_000,
            b'{"Successful": 1, "Failed": {"Id": "0"}}',
            b'{"Successful": [1, {"Id": 0}, {}], "Failed": [null]}',
            b" " * LONGEST_ANSWER + b"{}",
        ],
    )
    def test_that_is_none_leaves_every_entry_unavailable(self, service: ScriptedService, body: bytes) -> None:
        service.replies.append(http(200, body))
        queue = direct(service.url)
        assert send(queue) == UNAVAILABLE
        assert send(queue) == []

    def test_that_ends_halfway_is_an_outage(self, service: ScriptedService) -> None:
        """The SDK would go on with the next ten entries."""
        whole = http(200, {"Successful": [{"Id": str(n)} for n in range(10)]})
        service.replies.append(Reply(whole.content[:-5], hang_up=True))
        assert send(direct(service.url), 12) == outage()
        assert len(service.requests) == 1

    @pytest.mark.parametrize("code", ["canary secret", "<b>", "x" * 200, 7, None, {}])
    def test_has_codes_and_nothing_else_passes_for_one(self, service: ScriptedService, code: object) -> None:
        service.replies += [http(400, {"__type": code}), http(200, {"Failed": [{"Id": "0", "Code": code}]})]
        queue = direct(service.url)
        assert send(queue) == send(queue) == [(0, "Unknown", False)]

    def test_in_chunks_is_read_like_any(self, service: ScriptedService) -> None:
        body = json.dumps({"Successful": [{"Id": "0"}]}).encode()
        chunks = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
        service.replies.append(Reply(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks))
        queue = direct(service.url)
        assert send(queue) == send(queue) == []
        assert service.connections == 1


class TestTimeouts:
    def test_an_answer_that_does_not_come_is_given_up_after_the_read_timeout(self, service: ScriptedService) -> None:
        service.replies.append(Reply())
        started = time.monotonic()
        assert send(direct(service.url), 30) == [(index, "Unavailable", False) for index in range(30)]
        assert 0.6 < time.monotonic() - started < 2
        assert len(service.requests) == 1

    def test_an_answer_that_stops_halfway_too_and_its_connection_is_not_used_again(
        self, service: ScriptedService
    ) -> None:
        service.replies.append(Reply(b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n{"))
        queue = direct(service.url)
        assert send(queue) == UNAVAILABLE
        assert send(queue) == []
        assert service.connections == 2

    def test_an_answer_that_drips_is_given_up_after_both_timeouts(self) -> None:
        """A customer waits for it: without an end of the whole call, each byte would begin the wait anew."""
        with endless(opening=b"HTTP/1.1 200 OK\r\n", repeats=b"x", every_s=0.02) as url:
            started = time.monotonic()
            assert send(direct(url)) == UNAVAILABLE
            assert 0.8 < time.monotonic() - started < 2

    def test_a_connection_that_nobody_accepts_is_given_up_after_the_connect_timeout(self) -> None:
        with socket.socket() as full, socket.socket() as first, socket.socket() as second:
            full.bind(("127.0.0.1", 0))
            full.listen(0)
            for waiting in (first, second):
                waiting.setblocking(False)
                waiting.connect_ex(full.getsockname())
            started = time.monotonic()
            assert send(direct(f"http://127.0.0.1:{full.getsockname()[1]}")) == UNAVAILABLE
            assert 0.25 < time.monotonic() - started < 0.65

    def test_a_handshake_that_is_not_answered_counts_as_connecting(self) -> None:
        with socket.socket() as silent:
            silent.bind(("127.0.0.1", 0))
            silent.listen()
            started = time.monotonic()
            assert send(direct(f"https://127.0.0.1:{silent.getsockname()[1]}")) == UNAVAILABLE
            assert 0.25 < time.monotonic() - started < 0.65


class TestAConnection:
    def test_is_kept_for_the_next_call_also_of_another_queue(self, service: ScriptedService) -> None:
        aws = AwsSession(service.url, keys=KEYS, region=REGION)
        for name in ("jobs", "mails", "jobs"):
            assert send(SqsQueue(f"{service.url}/1/{name}", aws=aws)) == []
        assert service.connections == 1

    def test_that_was_closed_while_idle_is_replaced_before_anything_is_sent(self, service: ScriptedService) -> None:
        answer = http(200, {"Successful": [{"Id": "0"}]})
        service.replies.append(Reply(answer.content, hang_up=True))
        queue = direct(service.url)
        assert send(queue) == []
        service.hung_up.get(timeout=DEADLINE_S)
        assert send(queue) == []
        assert (len(service.requests), service.connections) == (2, 2)

    def test_that_is_closed_as_it_is_used_again_is_replaced_once(self, service: ScriptedService) -> None:
        queue = direct(service.url)
        assert send(queue) == []
        service.replies.append(Reply(hang_up=True))
        assert send(queue) == []
        assert (len(service.requests), service.connections) == (3, 2)
        service.replies += [Reply(hang_up=True)] * 2
        assert send(queue) == UNAVAILABLE
        assert len(service.requests) == 5

    def test_that_is_new_is_not_replaced(self, service: ScriptedService) -> None:
        service.replies.append(Reply(hang_up=True))
        assert send(direct(service.url)) == UNAVAILABLE
        assert len(service.requests) == 1

    def test_whose_answer_is_late_is_not_used_again(self, service: ScriptedService) -> None:
        queue = direct(service.url)
        assert send(queue) == []
        service.replies.append(Reply())
        assert send(queue) == UNAVAILABLE
        assert send(queue) == []
        assert (len(service.requests), service.connections) == (3, 2)

    def test_that_the_service_will_close_is_not_kept(self, service: ScriptedService) -> None:
        service.replies.append(http(200, {"Successful": [{"Id": "0"}]}, {"Connection": "close"}))
        queue = direct(service.url)
        assert send(queue) == send(queue) == []
        assert service.connections == 2

    def test_belongs_to_one_call_at_a_time(self, service: ScriptedService) -> None:
        queue = direct(service.url)
        outcomes: list[Outcome] = []
        ready = threading.Barrier(8)

        def work() -> None:
            ready.wait(DEADLINE_S)
            outcomes.extend(send(queue, n % 10 + 1) for n in range(20))

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(DEADLINE_S)
        assert outcomes == [[]] * 160
        assert service.connections <= 8


class TestTls:
    @pytest.fixture
    def secure_service(self, certificate: Path) -> Iterator[ScriptedService]:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(certificate)
        with ScriptedService(tls=tls) as service:
            yield service

    def test_a_service_that_nobody_vouches_for_gets_nothing(self, secure_service: ScriptedService) -> None:
        assert send(direct(secure_service.url)) == UNAVAILABLE
        assert secure_service.requests == []

    def test_a_trusted_one_is_talked_to_over_a_kept_connection(
        self, secure_service: ScriptedService, certificate: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        trusting = ssl.create_default_context(cafile=str(certificate))
        monkeypatch.setattr(http_client, "_tls", lambda: trusting)
        queue = direct(secure_service.url)
        assert send(queue) == send(queue) == send(queue) == []
        # What TLS 1.3 sends after its handshake may cost the first connection, and never a message.
        assert secure_service.connections <= 2
        assert len(secure_service.requests) == 3


class TestSecrets:
    @pytest.mark.parametrize(
        "keys",
        [
            AwsKeys("canary\r\nx: y", "canary-secret"),
            AwsKeys("canary", "canary-secret", "canary\n"),
            AwsKeys("canary", "canary-secret", "canary→"),
        ],
    )
    def test_keys_that_no_header_can_hold_are_an_outage_that_does_not_quote_them(
        self, service: ScriptedService, log: RecordedLog, keys: AwsKeys
    ) -> None:
        assert send(direct(service.url, keys)) == UNAVAILABLE
        assert service.requests == []
        assert "InvalidHeader" in log.text
        assert "canary" not in log.text

    def test_failures_are_logged_with_their_code_only(self, service: ScriptedService, log: RecordedLog) -> None:
        service.replies.append(http(403, {"__type": f"{TYPE}AccessDenied", "message": "canary"}))
        send(direct(service.url))
        assert "AccessDenied" in log.text
        assert "canary" not in log.text
