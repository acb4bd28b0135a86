"""SES answers that moto does not give, as bytes on a loopback port: what botocore makes of them, and then we."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from skincare.adapters.aws import AwsSession
from skincare.adapters.ses import SesEmailSender
from skincare.notifications.ports import (
    Email,
    EmailProviderUnavailable,
    EmailSendingStopped,
    EmailThrottled,
    EmailUndeliverable,
)

CANARY = "canary@example.com"
MAIL = Email(to=CANARY, to_name="Canary", subject="s", text="t\n", html="<p>h</p>\n")
HTML = f"<html>Bad gateway for {CANARY}</html>"
QUOTING = f'{{"message": "Address is not verified: {CANARY}"}}'


class Answers(BaseHTTPRequestHandler):
    """Answers each POST with what the test set; knows nothing of anything else."""

    status = 200
    error_type: str | None = None
    body: str | None = ""
    requests = 0

    def do_POST(self) -> None:
        type(self).requests += 1
        self.rfile.read(int(self.headers["Content-Length"]))
        if self.body is None:  # hangs up
            return
        self.answer(self.status, self.error_type, self.body)

    def do_GET(self) -> None:
        self.answer(404, None, "{}")

    def answer(self, status: int, error_type: str | None, body: str) -> None:
        self.send_response(status)
        if error_type is not None:
            self.send_header("x-amzn-ErrorType", error_type)
        self.send_header("x-amzn-RequestId", "request-1")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def answers() -> type[Answers]:
    """What the server answers with; each test has its own."""
    return type("Answers", (Answers,), {})


@pytest.fixture
def sender(answers: type[Answers], monkeypatch: pytest.MonkeyPatch) -> Iterator[SesEmailSender]:
    for name, value in {
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
        "AWS_DEFAULT_REGION": "ap-southeast-3",
        "NO_PROXY": "127.0.0.1",
    }.items():
        monkeypatch.setenv(name, value)
    with ThreadingHTTPServer(("127.0.0.1", 0), answers) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        yield SesEmailSender("orders@example.com", aws=AwsSession(f"http://127.0.0.1:{server.server_port}"))
        server.shutdown()
        thread.join(10)


class TestAnAnswer:
    @pytest.mark.parametrize(
        ("status", "error_type", "body", "expected"),
        [
            (429, "TooManyRequestsException", QUOTING, EmailThrottled),
            (400, "LimitExceededException:http://internal.amazon.com/x", QUOTING, EmailThrottled),
            (400, "SendingPausedException", QUOTING, EmailSendingStopped),
            (400, "AccountSuspendedException", QUOTING, EmailSendingStopped),
            (404, "NotFoundException", QUOTING, EmailSendingStopped),
            (403, "InvalidSignatureException", QUOTING, EmailSendingStopped),
            (403, None, HTML, EmailSendingStopped),
            (400, "MessageRejected", QUOTING, EmailUndeliverable),
            (400, "BadRequestException", QUOTING, EmailUndeliverable),
            (400, f"Rejected {CANARY}", QUOTING, EmailProviderUnavailable),
            (400, None, HTML, EmailProviderUnavailable),
            (429, None, HTML, EmailThrottled),
            (500, "InternalServiceErrorException", QUOTING, EmailProviderUnavailable),
            (502, None, HTML, EmailProviderUnavailable),
            (503, None, "", EmailProviderUnavailable),
            (301, None, HTML, EmailProviderUnavailable),
            (200, None, HTML, EmailProviderUnavailable),
            (200, None, "{}", EmailProviderUnavailable),
            (200, None, "", EmailProviderUnavailable),
            (200, None, None, EmailProviderUnavailable),
        ],
    )
    def test_becomes_one_of_our_errors_after_one_try_and_is_never_quoted(
        self,
        answers: type[Answers],
        sender: SesEmailSender,
        status: int,
        error_type: str | None,
        body: str | None,
        expected: type[Exception],
    ) -> None:
        answers.status, answers.error_type, answers.body = status, error_type, body
        with pytest.raises(expected) as failed:
            sender.send(MAIL)
        assert type(failed.value) is expected
        assert "anary" not in str(failed.value)
        assert failed.value.__context__ is None
        assert answers.requests == 1

    def test_with_an_id_is_a_sent_mail(self, answers: type[Answers], sender: SesEmailSender) -> None:
        answers.body = '{"MessageId": "id-1"}'
        assert sender.send(MAIL) == "id-1"


class TestNobodyThere:
    def test_is_an_outage(self, monkeypatch: pytest.MonkeyPatch, sender: SesEmailSender) -> None:
        nowhere = SesEmailSender("orders@example.com", aws=AwsSession("http://127.0.0.1:1"))
        with pytest.raises(EmailProviderUnavailable, match="EndpointConnectionError"):
            nowhere.send(MAIL)
