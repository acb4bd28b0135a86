import json
import socket
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from botocore.exceptions import ClientError
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from moto.s3.models import s3_backends
from moto.sqs.models import sqs_backends
from werkzeug.serving import make_server

from local import aws_lock, aws_setup
from local.aws import LocalAws, _QuietHandler
from local.aws_files import KeptFiles
from local.chaos import Switch, Switches
from local.functions import INVOICE_BUCKET, MAIL_FROM
from local.mailbox import Mailbox
from local.queues import create_queues, missing_queues, queue_url
from local.settings import ACCOUNT_ID, REGION
from local.state import Secrets
from local.webhook_secrets import secret_id, webhook_secret
from local.webhooks import Occurrence, signed
from skincare.adapters.aws import AwsSession, Timeouts
from skincare.adapters.s3 import S3ObjectStore
from skincare.adapters.ses import SesEmailSender
from skincare.adapters.webhook_secrets import SecretsManagerWebhookSecrets
from skincare.invoices.ports import ObjectStoreUnavailable
from skincare.jobs.queues import DEAD_LETTER_RETENTION, MAX_RECEIVE_COUNT, SOURCE_RETENTION, QueueName
from skincare.notifications.ports import Email, EmailProviderUnavailable, EmailThrottled
from skincare.payments.gateways import GATEWAYS
from skincare.payments.models import EventStatus, Webhook
from tests.local_system import wait_for

QUICK = Timeouts(connect=timedelta(seconds=2), read=timedelta(seconds=25))
SECRETS = Secrets(app_password="password of the tests", signing_key={})
CONFIRMATION = Email(to="buyer@example.com", to_name="", subject="hello", text="world\n", html="<p>world</p>\n")
KEPT: list[KeptFiles] = []
RAW_MAIL = b"To: buyer@example.com\r\nSubject: hello\r\n\r\nworld\r\n"


@pytest.fixture(scope="module")
def switches(tmp_path_factory: pytest.TempPathFactory) -> Switches:
    return Switches(tmp_path_factory.mktemp("switches"))


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory, switches: Switches) -> Iterator[str]:
    aws_lock.install()
    with socket.create_server(("127.0.0.1", 0)) as listener, pytest.MonkeyPatch.context() as environment:
        for name, value in {"AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local"}.items():
            environment.setenv(name, value)
        environment.setenv("AWS_DEFAULT_REGION", "ap-southeast-3")
        port = listener.getsockname()[1]
        mailbox = Mailbox(tmp_path_factory.mktemp("mail") / "mails.jsonl")
        moto = DomainDispatcherApplication(create_backend_app)
        files = KeptFiles(moto, tmp_path_factory.mktemp("files"))
        KEPT[:] = [files]
        app = LocalAws(moto, mailbox, switches=switches, files=files)
        server = make_server("127.0.0.1", port, app, threaded=True, request_handler=_QuietHandler, fd=listener.fileno())
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        yield f"http://127.0.0.1:{port}"
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def aws(endpoint: str) -> AwsSession:
    session = AwsSession(endpoint)
    aws_setup.prepare(session, SECRETS)
    return session


class TestTheQueuesOfTheLocalAws:
    @pytest.mark.parametrize("queue", QueueName)
    def test_they_have_the_limits_of_their_definition(self, aws: AwsSession, endpoint: str, queue: QueueName) -> None:
        sqs = aws.client("sqs", QUICK)
        url = queue_url(endpoint, queue)
        source = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
        dead_letters = sqs.get_queue_attributes(QueueUrl=f"{url}-dead-letters", AttributeNames=["All"])["Attributes"]
        assert int(source["VisibilityTimeout"]) == queue.limits.visibility_timeout.total_seconds()
        assert int(source["MessageRetentionPeriod"]) == SOURCE_RETENTION.total_seconds()
        assert int(dead_letters["MessageRetentionPeriod"]) == DEAD_LETTER_RETENTION.total_seconds()
        assert json.loads(source["RedrivePolicy"]) == {
            "deadLetterTargetArn": dead_letters["QueueArn"],
            "maxReceiveCount": MAX_RECEIVE_COUNT,
        }

    def test_a_message_past_its_count_stays_where_it_is_until_somebody_receives(
        self, aws: AwsSession, endpoint: str
    ) -> None:
        # So with consumers off the dead-letter queue looks empty, and the age of the oldest message must alarm.
        sqs = aws.client("sqs", QUICK)
        url = queue_url(endpoint, QueueName.DOCUMENTS)

        def depth(queue_url: str) -> str:
            found = sqs.get_queue_attributes(QueueUrl=queue_url, AttributeNames=["ApproximateNumberOfMessages"])
            return str(found["Attributes"]["ApproximateNumberOfMessages"])

        sqs.send_message(QueueUrl=url, MessageBody="x")
        for _ in range(MAX_RECEIVE_COUNT):
            assert sqs.receive_message(QueueUrl=url, VisibilityTimeout=0)["Messages"]
        assert (depth(url), depth(f"{url}-dead-letters")) == ("1", "0")
        assert "Messages" not in sqs.receive_message(QueueUrl=url, VisibilityTimeout=0)
        assert (depth(url), depth(f"{url}-dead-letters")) == ("0", "1")
        sqs.purge_queue(QueueUrl=f"{url}-dead-letters")

    def test_one_that_was_deleted_is_missed(self, aws: AwsSession, endpoint: str) -> None:
        sqs = aws.client("sqs", QUICK)
        assert missing_queues(sqs) == []
        sqs.delete_queue(QueueUrl=queue_url(endpoint, QueueName.DOCUMENTS))
        assert missing_queues(sqs) == ["documents"]
        create_queues(sqs)
        assert missing_queues(sqs) == []


class TestTheSecretsOfTheLocalAws:
    @pytest.mark.parametrize("gateway", list(GATEWAYS))
    def test_let_each_gateway_sign(self, aws: AwsSession, gateway: str) -> None:
        store = SecretsManagerWebhookSecrets({gateway: secret_id(gateway)}, aws=aws)
        secret = webhook_secret(SECRETS, gateway)
        assert store.secrets(gateway) == (secret,)
        now = datetime.now(UTC)
        what = Occurrence("event-1", "SKN-4T9QX-0M7KD", "transaction-1", "paid", 150_000, now)
        request = signed(gateway, what, secret=secret, sent_at=now)
        event = GATEWAYS[gateway].read(Webhook(request.body, request.headers, request.path), [secret], now)
        assert event.report is not None
        assert (event.report.status, event.report.amount_rupiah) == (EventStatus.PAID, 150_000)
        assert abs((event.report.occurred_at or now) - now) <= timedelta(seconds=1)


class TestTheFilesOfTheLocalAws:
    def test_outlive_the_memory_of_moto(self, aws: AwsSession) -> None:
        store = S3ObjectStore(INVOICE_BUCKET, aws=aws)
        assert store.put_if_absent("2026/one file.pdf", b"%PDF-1", content_type="application/pdf")
        _forget_files(aws)
        with urllib.request.urlopen(
            store.link("2026/one file.pdf", filename="a.pdf", expires_in=timedelta(minutes=5)), timeout=10
        ) as answer:
            assert (answer.read(), answer.headers["Content-Type"]) == (b"%PDF-1", "application/pdf")

    def test_are_still_there_for_whoever_would_write_them_again(self, aws: AwsSession) -> None:
        store = S3ObjectStore(INVOICE_BUCKET, aws=aws)
        assert store.put_if_absent("first.pdf", b"first", content_type="application/pdf")
        _forget_files(aws)
        assert not store.put_if_absent("first.pdf", b"second", content_type="application/pdf")
        assert aws.client("s3", QUICK).get_object(Bucket=INVOICE_BUCKET, Key="first.pdf")["Body"].read() == b"first"

    def test_are_gone_for_good_once_they_are_deleted(self, aws: AwsSession) -> None:
        s3 = aws.client("s3", QUICK)
        s3.put_object(Bucket=INVOICE_BUCKET, Key="gone.pdf", Body=b"x")
        s3.delete_object(Bucket=INVOICE_BUCKET, Key="gone.pdf")
        _forget_files(aws)
        with pytest.raises(ClientError, match="NoSuchKey"):
            s3.get_object(Bucket=INVOICE_BUCKET, Key="gone.pdf")

    def test_that_cannot_be_kept_are_not_acknowledged(self, aws: AwsSession, monkeypatch: pytest.MonkeyPatch) -> None:
        def no_space(*_: object) -> int:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(Path, "write_bytes", no_space)
        with pytest.raises(ObjectStoreUnavailable):
            S3ObjectStore(INVOICE_BUCKET, aws=aws).put_if_absent("full.pdf", b"x", content_type="application/pdf")


def _forget_files(aws: AwsSession) -> None:
    """Do to S3 what the end of its process does."""
    s3_backends[ACCOUNT_ID]["aws"].reset()
    aws.client("s3", QUICK).create_bucket(
        Bucket=INVOICE_BUCKET, CreateBucketConfiguration={"LocationConstraint": REGION}
    )
    KEPT[0]._known.clear()


class TestAConsumerThatGoesAway:
    def test_the_message_that_comes_then_is_for_the_next_one(self, aws: AwsSession, endpoint: str) -> None:
        """moto would hide it for the whole visibility timeout."""
        sqs, url = aws.client("sqs", QUICK), queue_url(endpoint, QueueName.PAYMENTS)
        host, port = endpoint.removeprefix("http://").split(":")
        for _ in range(3):
            with socket.create_connection((host, int(port))) as gone:
                gone.sendall(_receive_request(url, f"{host}:{port}"))
        sqs.send_message(QueueUrl=url, MessageBody="precious")
        [message] = sqs.receive_message(QueueUrl=url, WaitTimeSeconds=10)["Messages"]
        assert message["Body"] == "precious"
        sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])

    def test_one_that_stays_keeps_its_message(self, aws: AwsSession, endpoint: str) -> None:
        sqs, url = aws.client("sqs", QUICK), queue_url(endpoint, QueueName.PAYMENTS)
        sqs.send_message(QueueUrl=url, MessageBody="mine")
        [message] = sqs.receive_message(QueueUrl=url)["Messages"]
        assert "Messages" not in sqs.receive_message(QueueUrl=url)
        sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])


class TestTheMailsOfTheLocalAws:
    def test_what_ses_took_is_shown(self, aws: AwsSession, endpoint: str) -> None:
        aws.client("sesv2", QUICK).send_email(
            FromEmailAddress="shop@example.com",
            Destination={"ToAddresses": ["buyer@example.com"]},
            Content={"Raw": {"Data": RAW_MAIL}},
        )
        [mail] = _mails(endpoint)
        assert (mail["to"], mail["subject"], mail["text"]) == ("buyer@example.com", "hello", "world\r\n")

    def test_what_ses_refused_is_not(self, aws: AwsSession, endpoint: str) -> None:
        before = _mails(endpoint)
        ses = aws.client("sesv2", QUICK)
        with pytest.raises(ses.exceptions.MessageRejected):
            ses.send_email(
                FromEmailAddress="nobody@example.com",
                Destination={"ToAddresses": ["buyer@example.com"]},
                Content={"Raw": {"Data": RAW_MAIL}},
            )
        assert _mails(endpoint) == before

    def test_a_page_under_another_name_for_this_address_gets_nothing(self, aws: AwsSession, endpoint: str) -> None:
        request = urllib.request.Request(f"{endpoint}/_local/mails", headers={"Host": "evil.example.com"})
        with pytest.raises(urllib.error.HTTPError, match="403") as refusal:
            urllib.request.urlopen(request, timeout=10)
        refusal.value.close()


class TestWhatIsBrokenOnPurpose:
    @pytest.mark.parametrize(
        ("switch", "error"),
        [(Switch.MAIL_DOWN, EmailProviderUnavailable), (Switch.MAIL_THROTTLED, EmailThrottled)],
    )
    def test_mail_fails_as_the_switch_says_and_the_queues_do_not(
        self, aws: AwsSession, endpoint: str, switches: Switches, switch: Switch, error: type[Exception]
    ) -> None:
        mails = len(_mails(endpoint))
        switches.turn(switch, on=True)
        try:
            with pytest.raises(error):
                SesEmailSender(MAIL_FROM, aws=aws).send(CONFIRMATION)
            assert missing_queues(aws.client("sqs", QUICK)) == []
        finally:
            switches.turn(switch, on=False)
        assert len(_mails(endpoint)) == mails
        SesEmailSender(MAIL_FROM, aws=aws).send(CONFIRMATION)
        assert len(_mails(endpoint)) == mails + 1

    def test_queues_that_are_down_keep_what_they_have_also_from_whoever_waits(
        self, aws: AwsSession, endpoint: str, switches: Switches
    ) -> None:
        sqs, url = aws.client("sqs", QUICK), queue_url(endpoint, QueueName.DOCUMENTS)
        refused: list[str] = []

        def wait_for_a_message() -> None:
            try:
                sqs.receive_message(QueueUrl=url, WaitTimeSeconds=20)
            except ClientError as error:
                refused.append(error.response["Error"]["Code"])

        waiting = threading.Thread(target=wait_for_a_message)
        waiting.start()
        backend = sqs_backends[ACCOUNT_ID][REGION]
        wait_for(lambda: backend.get_queue(QueueName.DOCUMENTS)._messages_lock._waiters, "the receive")  # type: ignore[attr-defined]
        switches.turn(Switch.SQS_DOWN, on=True)
        try:
            with pytest.raises(ClientError, match="ServiceUnavailable"):
                sqs.send_message(QueueUrl=url, MessageBody="refused")
            # Sent past the switch, so that the receive has something to end with.
            backend.send_message(QueueName.DOCUMENTS, "kept")
            waiting.join(timeout=30)
        finally:
            switches.turn(Switch.SQS_DOWN, on=False)
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
