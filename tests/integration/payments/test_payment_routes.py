"""The webhooks over HTTP: raw bytes in, one short answer out."""

import base64
import os
import signal
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from psycopg import Connection

from skincare.app import App
from skincare.deployment.http import HTTP
from skincare.payments.gateways.doku import webhook as doku
from skincare.payments.models import Webhook
from tests.support.factories import make_order, make_settings
from tests.support.http import Answer, Client, RecordingPublisher, call, http_event, make_app, open_app
from tests.support.log import recorded_log
from tests.support.payments import events, new_order, order_status, run_jobs
from tests.support.webhooks import OTHER_SECRETS, SECRETS, SENDERS, body_of, webhook_of, with_header

PATHS = {
    "standard_webhooks": "/v1/payments/webhook",
    **{gateway: f"/v1/payments/webhook/{gateway}" for gateway in ("midtrans", "xendit", "doku")},
}
CANARY = "canary-7f3a"
every_gateway = pytest.mark.parametrize("gateway", list(PATHS))


def post(
    app: App, webhook: Webhook, path: str, *, in_base64: bool = True, headers: Mapping[str, str] | None = None
) -> Answer:
    """Send a webhook as API Gateway would hand it on."""
    body = base64.b64encode(webhook.body).decode() if in_base64 else webhook.body.decode()
    event = http_event("POST", path, headers=headers or webhook.headers, body=body, isBase64Encoded=in_base64)
    return call(app, event)


def send(app: App, gateway: str, *, secret: str | None = None, **changes: Any) -> Answer:
    return post(app, webhook_of(gateway, secret=secret, at=datetime.now(UTC), **changes), PATHS[gateway])


class TestAWebhook:
    @every_gateway
    def test_is_answered_ok_as_often_as_it_comes(self, app: App, conn: Connection, gateway: str) -> None:
        webhook = webhook_of(gateway, at=datetime.now(UTC))
        for _ in range(2):
            answer = post(app, webhook, PATHS[gateway])
            assert (answer.status, answer.text) == (200, '{"status":"ok"}')
        assert events(conn) == [("received", "paid")]

    def test_is_answered_ok_whether_it_or_a_cancellation_wins(self, database_url: str, conn: Connection) -> None:
        with open_app(database_url, max_connections=2) as app, ThreadPoolExecutor(2) as pool:
            for round_ in range(6):
                number = make_order(conn, user_id="ani").order.order_number
                ready = threading.Barrier(2)

                def pay(number: str = number, round_: int = round_, ready: threading.Barrier = ready) -> int:
                    ready.wait(timeout=20)
                    changes = {"event_id": number, "transaction_id": f"trx-{round_}"}
                    status = send(app, "standard_webhooks", order_number=number, **changes).status
                    run_jobs(app)
                    return status

                def cancel(number: str = number, ready: threading.Barrier = ready) -> int:
                    ready.wait(timeout=20)
                    return Client(app, "ani").cancel(number).status

                paid, cancelled = pool.submit(pay), pool.submit(cancel)
                ends = {200: ("cancelled", [("order_closed",)]), 409: ("paid", [])}
                assert paid.result(timeout=30) == 200
                left = conn.execute(
                    "SELECT kind FROM payment_anomalies a JOIN orders o ON o.id = a.order_id WHERE order_number = %s",
                    [number],
                ).fetchall()
                assert (order_status(conn, number), left) == ends[cancelled.result(timeout=30)]

    def test_pays_an_order(self, app: App, conn: Connection) -> None:
        number = new_order(conn)
        assert send(app, "standard_webhooks", order_number=number).status == 200
        run_jobs(app)
        assert order_status(conn, number) == "paid"

    @every_gateway
    @pytest.mark.parametrize("in_base64", [False, True])
    def test_is_verified_in_the_bytes_that_came(
        self, app: App, conn: Connection, gateway: str, *, in_base64: bool
    ) -> None:
        body = body_of(gateway, note="é", link="a/b").replace(rb"\u00e9", "é".encode())
        odd = body.replace(b": ", b" :\t\r\n ").replace(b"a/b", rb"a\/b")
        webhook = SENDERS[gateway](odd, secret=SECRETS[gateway], at=datetime.now(UTC))
        assert post(app, webhook, PATHS[gateway], in_base64=in_base64).status == 200
        assert conn.execute("SELECT body FROM payment_events").fetchone() == (webhook.body,)

    @pytest.mark.parametrize("gateway", ["standard_webhooks", "xendit", "doku"])
    def test_has_header_names_in_any_case(self, app: App, gateway: str) -> None:
        webhook = webhook_of(gateway, at=datetime.now(UTC))
        headers = {name.title(): value for name, value in webhook.headers.items()}
        assert post(app, webhook, PATHS[gateway], headers=headers).status == 200

    @pytest.mark.parametrize("gateway", ["standard_webhooks", "xendit", "doku"])
    def test_with_a_repeated_header_is_refused(self, app: App, conn: Connection, gateway: str) -> None:
        webhook = webhook_of(gateway, at=datetime.now(UTC))
        for name, value in webhook.headers.items():
            for repeated in (f"{value},evil", f"evil,{value}", f"{value},{value}"):
                answer = post(app, with_header(webhook, name, repeated), PATHS[gateway])
                assert (answer.status, answer.code) == (401, "signature_invalid")
            twice = {**webhook.headers, name.upper(): value}
            assert post(app, webhook, PATHS[gateway], headers=twice).status == 401
        assert events(conn) == []

    @every_gateway
    def test_that_is_forged_is_refused(self, app: App, conn: Connection, gateway: str) -> None:
        with recorded_log() as log:
            answer = send(app, gateway, secret=OTHER_SECRETS[gateway])
        assert (answer.status, answer.code, events(conn)) == (401, "signature_invalid", [])
        (refused,) = [line for line in log.lines if line["message"] == "payment.webhook_refused"]
        assert (refused["gateway"], refused["level"]) == (gateway, "WARNING")

    def test_needs_no_token_and_looks_at_none(self, app: App) -> None:
        webhook = webhook_of("standard_webhooks", at=datetime.now(UTC))
        headers = {**webhook.headers, "authorization": "Bearer nonsense", "content-type": "text/plain"}
        assert post(app, webhook, PATHS["standard_webhooks"], headers=headers).status == 200

    @every_gateway
    @pytest.mark.parametrize("body", ["", "nonsense", "[]", "{", '{"a":NaN}'])
    def test_that_is_no_json_object_is_kept_where_it_is_signed_and_refused_otherwise(
        self, app: App, conn: Connection, gateway: str, body: str
    ) -> None:
        """A gateway gives up after its last try: what it really sent must not be lost for its form."""
        forged = Webhook(body.encode(), {} if gateway == "midtrans" else webhook_of("doku").headers, "/")
        answer = post(app, forged, PATHS[gateway])
        # Midtrans signs inside the body: nobody can say who sent one that cannot be read.
        assert answer.status == (400 if gateway == "midtrans" else 401)
        assert events(conn) == []
        if gateway == "midtrans":
            return
        signed = SENDERS[gateway](body.encode(), secret=SECRETS[gateway], at=datetime.now(UTC))
        with recorded_log() as log:
            for _ in range(2):
                answer = post(app, signed, PATHS[gateway])
                assert (answer.status, answer.text) == (200, '{"status":"ok"}')
        assert events(conn) == [("quarantined", None)]
        assert conn.execute("SELECT body FROM payment_events").fetchone() == (body.encode(),)
        assert [line["level"] for line in log.lines if line["message"] == "payment.event_quarantined"] == ["ERROR"]

    @pytest.mark.parametrize("gateway", ["standard_webhooks", "xendit", "doku"])
    def test_that_comes_in_another_form_first_is_applied_when_it_comes_again(
        self, app: App, conn: Connection, gateway: str
    ) -> None:
        """Under the same identifiers: what was set aside is not the event, and does not take its place."""
        at, body = datetime.now(UTC), body_of(gateway)
        for sent in (b"\xef\xbb\xbf" + body, body):
            assert post(app, SENDERS[gateway](sent, secret=SECRETS[gateway], at=at), PATHS[gateway]).status == 200
        assert events(conn) == [("quarantined", None), ("received", "paid")]

    @pytest.mark.parametrize(
        ("gateway", "changes"),
        [
            ("midtrans", {"order_id": "payment_notif_test_M00000000_0b8f9a53-6e2e-4c6c-9f0e-1b1f4d1a7c11"}),
            ("xendit", {"external_id": "invoice_123124123", "id": "579c8d61f23fa4ca35e52da4"}),
        ],
    )
    def test_of_the_test_button_of_a_dashboard_is_answered_ok_and_calls_nobody(
        self, app: App, conn: Connection, gateway: str, changes: dict[str, Any]
    ) -> None:
        with recorded_log() as log:
            assert send(app, gateway, **changes).status == 200
        assert [state for state, _ in events(conn)] == ["ignored"]
        assert "payment.event_ignored" in log.text
        assert not [line for line in log.lines if line["level"] == "ERROR"]
        assert conn.execute("SELECT count(*) FROM jobs").fetchone() == (0,)

    def test_that_cannot_be_decoded_is_malformed(self, app: App) -> None:
        answer = call(app, http_event("POST", PATHS["midtrans"], body="no base64!", isBase64Encoded=True))
        assert (answer.status, answer.code) == (400, "request_malformed")

    @pytest.mark.parametrize("in_base64", [False, True])
    def test_that_is_too_large_is_refused(self, app: App, *, in_base64: bool) -> None:
        body = b"x" * (HTTP.max_body_bytes + 1)
        assert post(app, Webhook(body, {}, "/"), PATHS["doku"], in_base64=in_base64).status == 413

    @pytest.mark.parametrize("gateway", ["nobody", "Midtrans", "%20", "..", "x" * 3000])
    def test_of_a_gateway_that_nobody_knows_is_not_found(self, app: App, gateway: str) -> None:
        answer = post(app, webhook_of("doku"), f"/v1/payments/webhook/{gateway}")
        assert (answer.status, answer.code) == (404, "gateway_unknown")

    @pytest.mark.parametrize("text", ["\x00", "\ud800"])
    def test_of_hostile_text_is_kept_for_a_person(self, app: App, conn: Connection, text: str) -> None:
        assert send(app, "standard_webhooks", order_number=text).status == 200
        assert events(conn) == [("quarantined", None)]
        assert isinstance(app.publisher, RecordingPublisher)
        assert app.publisher.jobs == []

    def test_signs_the_path_in_front_of_our_own(self, database_url: str) -> None:
        app = replace(make_app(database_url), settings=make_settings(database_url, PUBLIC_PATH_PREFIX="/shop/"))
        body, at = body_of("doku"), datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        names = {"client_id": "client-1", "request_id": "request-1", "timestamp": at}
        signature = doku.sign(SECRETS["doku"], body, **names, path="/shop/v1/payments/webhook/doku")
        headers = {"client-id": "client-1", "request-id": "request-1", "request-timestamp": at, "signature": signature}
        assert post(app, Webhook(body, headers, "/"), PATHS["doku"]).status == 200
        app.database.close()

    @every_gateway
    def test_leaves_nothing_of_itself_in_the_log(self, app: App, gateway: str) -> None:
        with recorded_log() as log:
            texts = [send(app, gateway, email=CANARY).text]
            webhook = webhook_of(gateway, at=datetime.now(UTC))
            headers = dict.fromkeys([*webhook.headers, "authorization", "x-callback-token"], CANARY)
            texts.append(post(app, Webhook(body_of(gateway, signature_key=CANARY), headers, "/"), PATHS[gateway]).text)
            texts.append(post(make_app(), webhook, PATHS[gateway]).text)
        assert CANARY not in log.text + "".join(texts)
        for secret in SECRETS.values():
            assert secret not in log.text


@pytest.fixture
def silent_database() -> Iterator[str]:
    """A server that takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        taken: list[socket.socket] = []

        def accept() -> None:
            while True:
                try:
                    taken.append(listener.accept()[0])
                except OSError:
                    return

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        yield f"postgresql://nobody@127.0.0.1:{listener.getsockname()[1]}/none"
        listener.shutdown(socket.SHUT_RDWR)
        for each in taken:
            each.close()
        thread.join(timeout=5)


class TestADatabaseThatIsDown:
    def test_is_told_by_503(self) -> None:
        answer = send(make_app(), "midtrans")
        assert (answer.status, answer.code) == (503, "unavailable")

    def test_is_told_within_three_seconds_also_when_it_only_hangs(self, silent_database: str) -> None:
        started = time.monotonic()
        assert send(make_app(silent_database), "standard_webhooks").status == 503
        assert time.monotonic() - started < 3

    def test_that_stops_answering_is_told_within_three_seconds(self, app: App) -> None:
        assert send(app, "doku").status == 200
        with app.database.connection() as conn:
            pid = conn.info.backend_pid
        os.kill(pid, signal.SIGSTOP)
        try:
            started = time.monotonic()
            assert send(app, "standard_webhooks").status == 503
            assert time.monotonic() - started < 3
        finally:
            os.kill(pid, signal.SIGCONT)
