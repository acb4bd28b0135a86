import http.client
import json
import socket
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError
from moto.s3.models import s3_backends
from moto.sqs.models import sqs_backends
from werkzeug.serving import make_server

from emulator.aws import fast_paths as aws_fast_paths
from emulator.aws import lock as aws_lock
from emulator.aws.fast_paths import Dispatcher
from emulator.aws.files import KeptFiles
from emulator.aws.mailbox import Mailbox
from emulator.aws.server import LocalAws, _QuietHandler
from emulator.settings import ACCOUNT_ID, REGION
from emulator.switches import Fault, Switches
from tests.support.local_system import wait_for

BUCKET, SENDER, QUEUE = "files-of-a-test", "sender@example.com", "queue-of-a-test"
KEPT: list[KeptFiles] = []
RAW_MAIL = b"To: buyer@example.com\r\nSubject: hello\r\n\r\nworld\r\n"


@pytest.fixture(scope="module")
def switches(tmp_path_factory: pytest.TempPathFactory) -> Switches:
    return Switches(tmp_path_factory.mktemp("switches"))


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory, switches: Switches) -> Iterator[str]:
    aws_fast_paths.install()
    aws_lock.install()
    with socket.create_server(("127.0.0.1", 0)) as listener, pytest.MonkeyPatch.context() as environment:
        for name, value in {"AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local"}.items():
            environment.setenv(name, value)
        environment.setenv("AWS_DEFAULT_REGION", "ap-southeast-3")
        port = listener.getsockname()[1]
        mailbox = Mailbox(tmp_path_factory.mktemp("mail") / "mails.jsonl")
        moto = Dispatcher()
        files = KeptFiles(moto, tmp_path_factory.mktemp("files"))
        KEPT[:] = [files]
        app = LocalAws(moto, mailbox, switches=switches, files=files)
        server = make_server("127.0.0.1", port, app, threaded=True, request_handler=_QuietHandler, fd=listener.fileno())
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        yield f"http://127.0.0.1:{port}"
        server.shutdown()
        thread.join()


class Aws:
    """AWS's own clients, which try each call once, and what they find: a queue, a sender, a bucket."""

    def __init__(self, endpoint: str) -> None:
        settings: Any = {
            "endpoint_url": endpoint,
            "region_name": REGION,
            "aws_access_key_id": "local",
            "aws_secret_access_key": "local",
            "config": Config(retries={"total_max_attempts": 1}, read_timeout=25),
        }
        self.sqs = boto3.client("sqs", **settings)
        self.ses = boto3.client("sesv2", **settings)
        self.s3: Any = boto3.client("s3", **settings)
        self.queue_url = self.sqs.create_queue(QueueName=QUEUE)["QueueUrl"]
        self.ses.create_email_identity(EmailIdentity=SENDER)
        self.create_bucket()

    def create_bucket(self) -> None:
        self.s3.create_bucket(Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": REGION})

    def send_mail(self, sender: str = SENDER) -> None:
        self.ses.send_email(
            FromEmailAddress=sender,
            Destination={"ToAddresses": ["buyer@example.com"]},
            Content={"Raw": {"Data": RAW_MAIL}},
        )

    def forget_files(self) -> None:
        """Do to S3 what the end of its process does."""
        s3_backends[ACCOUNT_ID]["aws"].reset()
        self.create_bucket()
        KEPT[0]._known.clear()


@pytest.fixture(scope="module")
def aws(endpoint: str) -> Aws:
    return Aws(endpoint)


class TestTheFiles:
    def test_outlive_the_memory_of_moto(self, aws: Aws) -> None:
        aws.s3.put_object(Bucket=BUCKET, Key="2026/one file.pdf", Body=b"%PDF-1", ContentType="application/pdf")
        aws.forget_files()
        link = aws.s3.generate_presigned_url("get_object", Params={"Bucket": BUCKET, "Key": "2026/one file.pdf"})
        with urllib.request.urlopen(link, timeout=10) as answer:
            assert (answer.read(), answer.headers["Content-Type"]) == (b"%PDF-1", "application/pdf")

    def test_are_still_there_for_whoever_would_write_them_again(self, aws: Aws) -> None:
        aws.s3.put_object(Bucket=BUCKET, Key="first.pdf", Body=b"first", IfNoneMatch="*")
        aws.forget_files()
        with pytest.raises(ClientError, match="PreconditionFailed"):
            aws.s3.put_object(Bucket=BUCKET, Key="first.pdf", Body=b"second", IfNoneMatch="*")
        assert aws.s3.get_object(Bucket=BUCKET, Key="first.pdf")["Body"].read() == b"first"

    def test_are_gone_for_good_once_they_are_deleted(self, aws: Aws) -> None:
        aws.s3.put_object(Bucket=BUCKET, Key="gone.pdf", Body=b"x")
        aws.s3.delete_object(Bucket=BUCKET, Key="gone.pdf")
        aws.forget_files()
        with pytest.raises(ClientError, match="NoSuchKey"):
            aws.s3.get_object(Bucket=BUCKET, Key="gone.pdf")

    def test_that_cannot_be_kept_are_not_acknowledged(self, aws: Aws, monkeypatch: pytest.MonkeyPatch) -> None:
        def no_space(*_: object) -> int:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(Path, "write_bytes", no_space)
        with pytest.raises(ClientError, match="500"):
            aws.s3.put_object(Bucket=BUCKET, Key="full.pdf", Body=b"x")


class TestAConsumerThatGoesAway:
    def test_the_message_that_comes_then_is_for_the_next_one(self, aws: Aws, endpoint: str) -> None:
        """moto would hide it for the whole visibility timeout."""
        sqs, url = aws.sqs, aws.queue_url
        host, port = endpoint.removeprefix("http://").split(":")
        for _ in range(3):
            with socket.create_connection((host, int(port))) as gone:
                gone.sendall(_receive_request(url, f"{host}:{port}"))
        sqs.send_message(QueueUrl=url, MessageBody="precious")
        [message] = sqs.receive_message(QueueUrl=url, WaitTimeSeconds=10)["Messages"]
        assert message["Body"] == "precious"
        sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])

    def test_one_that_stays_keeps_its_message(self, aws: Aws, endpoint: str) -> None:
        sqs, url = aws.sqs, aws.queue_url
        sqs.send_message(QueueUrl=url, MessageBody="mine")
        # One that went away before may have it for a moment.
        [message] = sqs.receive_message(QueueUrl=url, WaitTimeSeconds=10)["Messages"]
        assert "Messages" not in sqs.receive_message(QueueUrl=url)
        sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])


class TestAConnection:
    def test_is_kept_from_one_call_to_the_next(self, endpoint: str) -> None:
        connection = http.client.HTTPConnection(endpoint.removeprefix("http://"), timeout=10)
        connection.connect()
        socket_before = connection.sock
        for path in ("/_local/mails", "/moto-api/", "/_local/mails"):
            connection.request("POST", path, b"x" * 100, {"Expect": "100-continue"})
            answer = connection.getresponse()
            answer.read()
            assert (answer.version, answer.will_close) == (11, False)
        assert connection.sock is socket_before
        connection.close()

    def test_that_sends_a_body_in_pieces_is_answered_and_closed(self, endpoint: str) -> None:
        connection = http.client.HTTPConnection(endpoint.removeprefix("http://"), timeout=10)
        connection.request("POST", "/_local/mails", iter([b"a", b"b"]), encode_chunked=True)
        answer = connection.getresponse()
        answer.read()
        assert answer.will_close
        connection.close()


class TestTheMails:
    def test_what_ses_took_is_shown(self, aws: Aws, endpoint: str) -> None:
        before = _mails(endpoint)
        aws.send_mail()
        [mail] = [mail for mail in _mails(endpoint) if mail not in before]
        assert (mail["to"], mail["subject"], mail["text"]) == ("buyer@example.com", "hello", "world\r\n")

    def test_what_ses_refused_is_not(self, aws: Aws, endpoint: str) -> None:
        before = _mails(endpoint)
        with pytest.raises(aws.ses.exceptions.MessageRejected):
            aws.send_mail("nobody@example.com")
        assert _mails(endpoint) == before

    def test_a_page_under_another_name_for_this_address_gets_nothing(self, aws: Aws, endpoint: str) -> None:
        request = urllib.request.Request(f"{endpoint}/_local/mails", headers={"Host": "evil.example.com"})
        with pytest.raises(urllib.error.HTTPError, match="403") as refusal:
            urllib.request.urlopen(request, timeout=10)
        refusal.value.close()


class TestWhatIsBrokenOnPurpose:
    @pytest.mark.parametrize(
        ("switch", "error"),
        [(Fault.MAIL_DOWN, "ServiceUnavailableException"), (Fault.MAIL_THROTTLED, "TooManyRequestsException")],
    )
    def test_mail_fails_as_the_switch_says_and_the_queues_do_not(
        self, aws: Aws, endpoint: str, switches: Switches, switch: Fault, error: str
    ) -> None:
        mails = len(_mails(endpoint))
        switches.turn(switch, on=True)
        try:
            with pytest.raises(ClientError, match=error):
                aws.send_mail()
            assert aws.sqs.list_queues()["QueueUrls"]
        finally:
            switches.turn(switch, on=False)
        assert len(_mails(endpoint)) == mails
        aws.send_mail()
        assert len(_mails(endpoint)) == mails + 1

    def test_queues_that_are_down_keep_what_they_have_also_from_whoever_waits(
        self, aws: Aws, endpoint: str, switches: Switches
    ) -> None:
        sqs, url = aws.sqs, aws.queue_url
        refused: list[str] = []

        def wait_for_a_message() -> None:
            try:
                sqs.receive_message(QueueUrl=url, WaitTimeSeconds=20)
            except ClientError as error:
                refused.append(error.response["Error"]["Code"])

        waiting = threading.Thread(target=wait_for_a_message)
        waiting.start()
        backend = sqs_backends[ACCOUNT_ID][REGION]
        wait_for(lambda: backend.get_queue(QUEUE)._messages_lock._waiters, "the receive")  # type: ignore[attr-defined]
        switches.turn(Fault.SQS_DOWN, on=True)
        try:
            with pytest.raises(ClientError, match="ServiceUnavailable"):
                sqs.send_message(QueueUrl=url, MessageBody="refused")
            # Sent past the switch, so that the receive has something to end with.
            backend.send_message(QUEUE, "kept")
            waiting.join(timeout=30)
        finally:
            switches.turn(Fault.SQS_DOWN, on=False)
        assert refused == ["ServiceUnavailable"]
        assert [message["Body"] for message in sqs.receive_message(QueueUrl=url)["Messages"]] == ["kept"]


def _mails(endpoint: str) -> list[dict[str, str]]:
    with urllib.request.urlopen(f"{endpoint}/_local/mails", timeout=10) as answer:
        mails: list[dict[str, str]] = json.load(answer)
    return mails


def _receive_request(url: str, host: str) -> bytes:
    body = json.dumps({"QueueUrl": url, "WaitTimeSeconds": 20}).encode()
    head = (
        f"POST / HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/x-amz-json-1.0\r\n"
        "X-Amz-Target: AmazonSQS.ReceiveMessage\r\nAuthorization: AWS4-HMAC-SHA256 "
        "Credential=local/20260101/ap-southeast-3/sqs/aws4_request, SignedHeaders=host, Signature=0\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body
