"""Webhooks on their way in: stored once with their job, whatever they hold, or refused."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest
from psycopg import Connection

from skincare.app import App
from skincare.database.connection import DatabaseUnavailable
from skincare.jobs.models import DueJob
from skincare.payments.errors import GatewayUnknown, SignatureInvalid, WebhookContested
from skincare.payments.service import receive
from tests.support.http import RecordingPublisher, make_app, open_app
from tests.support.log import recorded_log
from tests.support.payments import KNOWN, events, take_in
from tests.support.webhooks import NOW, OTHER_SECRETS, SECRETS, FixedSecrets, body_of, webhook_of


def jobs(app: App) -> list[DueJob]:
    assert isinstance(app.publisher, RecordingPublisher)
    return app.publisher.jobs


class TestAnEvent:
    @pytest.mark.parametrize("gateway", list(SECRETS))
    def test_is_stored_as_received_with_its_job(self, app: App, conn: Connection, gateway: str) -> None:
        take_in(app, gateway)
        row = conn.execute(
            "SELECT e.body, e.gateway, e.status, e.amount_rupiah, e.state, e.request_id, j.state, j.queue,"
            " j.order_number, j.id FROM payment_events e JOIN jobs j ON j.payload->>'event_id' = e.id::text"
            " WHERE j.job_type = 'process_payment'"
        ).fetchone()
        assert row is not None
        if gateway != "midtrans":
            assert row[0] == body_of(gateway)
        assert row[1:9] == (
            gateway,
            "paid",
            150_000,
            "received",
            "request-1",
            "pending",
            "payments",
            "SKN-4T9QX-0M7KD",
        )
        assert [job.job_id for job in jobs(app)] == [row[9]]

    def test_that_comes_again_changes_nothing(self, app: App, conn: Connection) -> None:
        for _ in range(3):
            take_in(app)
        assert events(conn) == [("received", "paid")]
        assert conn.execute("SELECT count(*) FROM jobs").fetchone() == (1,)
        assert len(jobs(app)) == 1

    @pytest.mark.parametrize(
        ("gateway", "change"),
        [
            ("standard_webhooks", {"amount_rupiah": 1}),
            ("standard_webhooks", {"transaction_id": "another"}),
            ("standard_webhooks", {"status": "failed"}),
            ("standard_webhooks", {"status": "zzz"}),
            ("standard_webhooks", {"order_number": "SKN-00000-00000"}),
            ("xendit", {"paid_amount": 1}),
            ("xendit", {"paid_amount": "1,000.00"}),
        ],
    )
    def test_that_has_the_identifier_of_another_one_is_kept_for_a_person(
        self, app: App, conn: Connection, gateway: str, change: dict[str, Any]
    ) -> None:
        """It would pass for a copy otherwise, and what it says about money would be gone."""
        take_in(app, gateway)
        with recorded_log() as log:
            for _ in range(2):
                take_in(app, gateway, **change)
        assert sorted(events(conn))[0][0] == "quarantined"
        assert len(events(conn)) == 2
        assert [line["message"] for line in log.lines] == ["payment.event_quarantined", "payment.event_repeated"]
        assert len(jobs(app)) == 1

    @pytest.mark.parametrize("gateway", ["standard_webhooks", "xendit", "doku"])
    def test_that_comes_again_and_says_the_same_in_other_bytes_is_a_copy(
        self, app: App, conn: Connection, gateway: str
    ) -> None:
        take_in(app, gateway)
        take_in(app, gateway, new_field="new")
        assert events(conn) == [("received", "paid")]

    def test_that_comes_fifty_times_at_once_is_stored_once(self, database_url: str, conn: Connection) -> None:
        with open_app(database_url, max_connections=10) as app, ThreadPoolExecutor(10) as pool:
            list(pool.map(lambda _: take_in(app), range(50)))
            assert len(jobs(app)) == 1
        assert events(conn) == [("received", "paid")]

    def test_of_the_same_key_from_another_gateway_is_another_one(self, app: App, conn: Connection) -> None:
        take_in(app, "doku")
        take_in(app, "xendit")
        assert conn.execute("SELECT gateway, event_key FROM payment_events ORDER BY 1").fetchall() == [
            ("doku", "message-1"),
            ("xendit", "message-1"),
        ]

    @pytest.mark.parametrize("status", ["authorize", "zzz"])
    def test_of_an_unknown_status_is_stored_ignored_and_counted(self, app: App, conn: Connection, status: str) -> None:
        with recorded_log() as log:
            take_in(app, status=status, new_field={"a": 1})
        assert events(conn) == [("ignored", None)]
        assert conn.execute("SELECT reported_status FROM payment_events").fetchall() == [(status,)]
        assert (jobs(app), [line["message"] for line in log.lines]) == ([], ["payment.event_ignored"])

    @pytest.mark.parametrize("text", ["canary\x00", "canary\ud800"])
    def test_of_hostile_text_is_kept_as_bytes_for_a_person(self, app: App, conn: Connection, text: str) -> None:
        with recorded_log() as log:
            for _ in range(2):
                take_in(app, order_number=text, event_id=text)
        assert events(conn) == [("quarantined", None)]
        assert conn.execute("SELECT body FROM payment_events").fetchone() == (
            body_of("standard_webhooks", order_number=text, event_id=text),
        )
        assert (jobs(app), "canary" in log.text) == ([], False)
        assert [line["message"] for line in log.lines] == ["payment.event_quarantined", "payment.event_repeated"]

    def test_of_a_gateway_that_nobody_knows_is_refused(self, app: App) -> None:
        with pytest.raises(GatewayUnknown):
            receive(
                "nobody",
                webhook_of("doku"),
                secrets=KNOWN,
                database=app.database,
                publisher=app.publisher,
                request_id="request-1",
                now=NOW,
            )

    def test_is_not_taken_while_the_database_is_down(self) -> None:
        app = make_app()
        with pytest.raises(DatabaseUnavailable):
            take_in(app)
        assert jobs(app) == []

    def test_waits_for_its_copy_no_longer_than_for_a_lock(self, app: App, database_url: str) -> None:
        with psycopg.connect(database_url) as other:
            other.execute(
                "INSERT INTO payment_events (id, gateway, event_key, body, headers, state)"
                " VALUES (gen_random_uuid(), 'standard_webhooks', 'event-1', '', '{}', 'ignored')"
            )
            with pytest.raises(WebhookContested):
                take_in(app)
            other.rollback()
        take_in(app)
        assert len(jobs(app)) == 1


class TestASecretThatRolls:
    def test_is_looked_up_once_more_when_a_signature_does_not_fit(self, app: App, conn: Connection) -> None:
        old, new = ({"standard_webhooks": (each["standard_webhooks"],)} for each in (OTHER_SECRETS, SECRETS))
        store = FixedSecrets(old, renewed=new)
        take_in(app, secrets=store)
        take_in(app, secrets=store, event_id="event-2")
        assert (store.fresh_looks, len(events(conn))) == (1, 2)

    def test_is_looked_up_only_once(self, app: App, conn: Connection) -> None:
        store = FixedSecrets({"standard_webhooks": (OTHER_SECRETS["standard_webhooks"],)})
        with pytest.raises(SignatureInvalid):
            take_in(app, secrets=store)
        assert (store.fresh_looks, events(conn)) == (1, [])


class TestManySenders:
    def test_of_different_events_do_not_wait_for_each_other(self, database_url: str, conn: Connection) -> None:
        ready = threading.Barrier(8)
        with open_app(database_url, max_connections=8) as app, ThreadPoolExecutor(8) as pool:

            def send(number: int) -> None:
                ready.wait(timeout=20)
                take_in(app, event_id=f"event-{number}")

            list(pool.map(send, range(8)))
        assert len(events(conn)) == 8
