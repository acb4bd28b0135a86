"""What AWS clients cost: the time a call may take, the tries, the clients that are made, the modules loaded."""

import http.server
import json
import subprocess
import sys
import threading
import time
from datetime import timedelta
from typing import Any

import pytest

from skincare.adapters.aws import AwsSession, Timeouts
from skincare.adapters.json_api import Origin
from skincare.adapters.sqs import WHILE_A_CUSTOMER_WAITS, SqsQueue
from skincare.config import AwsKeys
from skincare.jobs.ports import OutgoingMessage, ReceivedMessage

SECOND = timedelta(seconds=1)
URL = "http://sqs.example.com/111122223333/skincare-payments"
ONE = [OutgoingMessage("body")]
KEYS = AwsKeys("AKIDEXAMPLE", "secret")
TEN_SECONDS = Timeouts(connect=SECOND, read=10 * SECOND)
TAKEN = [ReceivedMessage("m-1", "rh-1", "body")]


class StubbornServer:
    """An HTTP server on a loopback port that counts requests and answers each with a status, or never."""

    def __init__(self, status: int | None) -> None:
        self.requests = 0
        self.released = threading.Event()
        stub = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                stub.requests += 1
                self.rfile.read(int(self.headers["Content-Length"]))
                if status is None:
                    stub.released.wait(timeout=10)
                    return
                body = json.dumps({"__type": "com.amazonaws.sqs#InternalFailure"}).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self.thread.start()

    def stop(self) -> None:
        self.released.set()
        self.server.shutdown()
        self.thread.join(timeout=5)
        self.server.server_close()


@pytest.fixture
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "ap-southeast-3")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.mark.usefixtures("credentials")
class TestTimeouts:
    @pytest.mark.parametrize("status", [500, 503, 400])
    def test_each_call_is_tried_once(self, status: int) -> None:
        server = StubbornServer(status)
        try:
            queue = SqsQueue(f"{server.url}/111122223333/jobs", aws=AwsSession(server.url))
            assert len(queue.enqueue(ONE)) == 1
            assert queue.ack(TAKEN) == TAKEN
            assert server.requests == 2
        finally:
            server.stop()

    def test_a_silent_service_is_given_up_when_the_customers_patience_ends(self) -> None:
        server = StubbornServer(status=None)
        try:
            aws = AwsSession(server.url)
            aws.client("sqs", WHILE_A_CUSTOMER_WAITS)
            queue = SqsQueue(f"{server.url}/1/jobs", aws=aws, timeouts=WHILE_A_CUSTOMER_WAITS)
            started = time.monotonic()
            failures = queue.enqueue(ONE * 30)
            waited_s = time.monotonic() - started
            assert [failure.code for failure in failures] == ["Unavailable"] * 30
            assert server.requests == 1
            assert 0.6 < waited_s < 2
        finally:
            server.stop()

    def test_a_region_that_is_not_set_is_an_outage_and_no_crash(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("AWS_DEFAULT_REGION")
        monkeypatch.delenv("AWS_REGION", raising=False)
        monkeypatch.setenv("AWS_CONFIG_FILE", "/nonexistent")
        assert [f.code for f in SqsQueue(URL, aws=AwsSession()).enqueue(ONE)] == ["Unavailable"]


@pytest.mark.usefixtures("credentials")
class TestSession:
    def test_hands_out_one_client_to_all_threads_and_queues(self) -> None:
        aws = AwsSession("http://127.0.0.1:9")
        clients: list[object] = []
        ready = threading.Barrier(8)

        def ask() -> None:
            ready.wait(timeout=10)
            clients.append(aws.client("sqs", WHILE_A_CUSTOMER_WAITS))

        threads = [threading.Thread(target=ask) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=20)
        assert len(clients) == 8
        assert len({id(client) for client in clients}) == 1

    def test_makes_another_client_for_other_timeouts(self) -> None:
        aws = AwsSession("http://127.0.0.1:9")
        patient = Timeouts(connect=SECOND, read=25 * SECOND)
        assert aws.client("sqs", WHILE_A_CUSTOMER_WAITS) is not aws.client("sqs", patient)
        config = aws.client("sqs", patient).meta.config
        assert (config.connect_timeout, config.read_timeout) == (1.0, 25.0)


class TestCallingWithoutTheSdk:
    @pytest.mark.parametrize(
        "url",
        [
            "https://sqs.ap-southeast-3.amazonaws.com/111122223333/jobs",
            "https://sqs.cn-north-1.amazonaws.com.cn/111122223333/jobs",
        ],
    )
    def test_goes_to_a_regional_name_in_its_own_region(self, url: str) -> None:
        api = AwsSession(keys=KEYS, region="eu-west-1").json_api("sqs", url, WHILE_A_CUSTOMER_WAITS)
        assert api is not None
        assert api.origin == Origin("https", url.split("/")[2], "sqs", url.split(".")[1])

    @pytest.mark.parametrize(
        ("url", "region"), [(URL, "eu-west-1"), ("https://sqs.us-east-1.amazonaws.com/1/jobs", "us-east-1")]
    )
    def test_goes_where_all_clients_are_told_to_go(self, url: str, region: str) -> None:
        api = AwsSession("http://127.0.0.1:9", keys=KEYS, region="eu-west-1").json_api("sqs", url, TEN_SECONDS)
        assert api is not None
        assert api.origin == Origin("http", "127.0.0.1:9", "sqs", region)

    @pytest.mark.parametrize(
        "url",
        [
            URL,
            "http://sqs.ap-southeast-3.amazonaws.com/1/jobs",
            "https://sqs.ap-southeast-3.amazonaws.com.example.com/1/jobs",
            "https://example.com/sqs.ap-southeast-3.amazonaws.com/1/jobs",
            "https://sqs.ap-southeast-3.amazonaws.com@example.com/1/jobs",
            "https://ses.ap-southeast-3.amazonaws.com/1/jobs",
            "https://queue.amazonaws.com/1/jobs",
        ],
    )
    def test_never_tells_a_token_to_any_other_place(self, url: str) -> None:
        assert AwsSession(keys=KEYS, region="ap-southeast-3").json_api("sqs", url, TEN_SECONDS) is None

    @pytest.mark.parametrize(
        "endpoint",
        ["ftp://127.0.0.1", "http://a:b@127.0.0.1", "http://", "http://[", "http://127.0.0.1:x", "http://127.0.0.1/x"],
    )
    def test_leaves_odd_endpoints_to_the_sdk(self, endpoint: str) -> None:
        assert AwsSession(endpoint, keys=KEYS, region="ap-southeast-3").json_api("sqs", URL, TEN_SECONDS) is None

    def test_needs_keys_and_a_region(self) -> None:
        assert AwsSession("http://127.0.0.1:9", region="eu-west-1").json_api("sqs", URL, TEN_SECONDS) is None
        assert AwsSession("http://127.0.0.1:9", keys=KEYS).json_api("sqs", URL, TEN_SECONDS) is None

    def test_shares_connections_among_calls_of_one_patience(self) -> None:
        aws = AwsSession("http://127.0.0.1:9", keys=KEYS, region="eu-west-1")
        first = aws.json_api("sqs", URL, TEN_SECONDS)
        assert aws.json_api("sqs", f"{URL}-2", TEN_SECONDS) is first
        assert aws.json_api("sqs", URL, WHILE_A_CUSTOMER_WAITS) is not first


class TestImporting:
    @pytest.mark.parametrize("module", ["skincare.adapters.sqs", "skincare.adapters.aws", "skincare.adapters.secrets"])
    def test_loads_neither_boto3_nor_the_heart_of_botocore(self, module: str) -> None:
        # Powertools imports the bare package botocore, which is small, to leave its name in user agents.
        code = f"import sys, {module}; print([name for name in ('boto3', 'botocore.session') if name in sys.modules])"
        run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=True)
        assert run.stdout.strip() == "[]"

    def test_making_a_queue_loads_nothing_either(self) -> None:
        code = (
            "import sys; from skincare.adapters.aws import AwsSession; from skincare.adapters.sqs import SqsQueue; "
            "SqsQueue('http://127.0.0.1:9/1/jobs', aws=AwsSession()); print('botocore.session' in sys.modules)"
        )
        run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=True)
        assert run.stdout.strip() == "False"
