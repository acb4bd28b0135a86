"""Addresses that get no mail: seen and lifted by a person, suppressed again by what happens later, shown to nobody."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from psycopg import Connection
from typer.testing import CliRunner, Result

from cli.main import app as cli
from cli.oncall import OnCall
from oncall.mail_requests import LiftSuppressions, ListSuppressed, ResendMails
from skincare.app import App
from skincare.identifiers import OrderNumber
from skincare.jobs.catalog import SendConfirmationEmail
from skincare.notifications.suppression import DeliveryFailure, FailureKind, suppress
from tests.support.factories import make_order
from tests.support.http import open_app
from tests.support.log import recorded_log
from tests.support.oncall import ME, InProcess, ask, audit, invoke, refused
from worker.handlers import send_confirmation_email

ADDRESS = "Canary7f3a@example.com"


def bounced(app: App, address: str = ADDRESS, at: datetime | None = None, status: str = "5.1.1") -> int:
    """Remember a bounce that happened now, or at another time; return how many addresses are new."""
    failure = DeliveryFailure(
        address, FailureKind.BOUNCE, is_permanent=True, status=status, happened_at=at or datetime.now(UTC)
    )
    return suppress([failure], database=app.database)


def withheld(app: App, conn: Connection, address: str = ADDRESS) -> OrderNumber:
    """An order whose confirmation was withheld."""
    number = make_order(conn, email=address).order.order_number
    confirm(app, number)
    return number


def confirm(app: App, number: OrderNumber) -> None:
    send_confirmation_email.handle(SendConfirmationEmail(order_number=number), app)


def lift(app: App, **which: Any) -> dict[str, int]:
    which = which or {"email": ADDRESS}
    counts: dict[str, int] = ask(
        app, LiftSuppressions(claimed_identity=ME, reason="the mailbox is back", **which)
    ).counts
    return counts


def resend(number: str) -> ResendMails:
    return ResendMails(claimed_identity=ME, reason="asked for", order_number=number)


def recorded(conn: Connection) -> list[tuple[str, str | None]]:
    return conn.execute("SELECT status, reason FROM order_notifications ORDER BY order_id").fetchall()


class TestTheList:
    def test_tells_number_reason_and_withheld_mails_and_no_address(self, app: App, conn: Connection) -> None:
        bounced(app)
        number = withheld(app, conn)
        event = invoke(app, ListSuppressed().model_dump(mode="json"))
        assert "anary7f3a" not in json.dumps(event)
        [row] = ask(app, ListSuppressed()).suppressed
        assert (row.reason, [(mail.order_number, mail.mail) for mail in row.withheld]) == (
            "permanent bounce",
            [(number, "order_confirmation")],
        )

    @pytest.mark.parametrize("typed", [ADDRESS, ADDRESS.lower(), f" {ADDRESS.upper()} "])
    def test_finds_an_address_as_a_customer_spells_it(self, app: App, typed: str) -> None:
        bounced(app)
        bounced(app, "other@example.com")
        assert len(ask(app, ListSuppressed(email=typed)).suppressed) == 1
        assert ask(app, ListSuppressed(email="nobody@example.com")).suppressed == ()

    def test_finds_all_that_were_suppressed_for_one_reason_page_by_page(self, app: App, conn: Connection) -> None:
        for index in range(5):
            bounced(app, f"ani{index}@example.com")
        conn.execute("UPDATE suppressed_recipients SET reason = 'bounce with status 5.7.26'")
        bounced(app)
        first = ask(app, ListSuppressed(reason="bounce with status 5.7", limit=3))
        rest = ask(app, ListSuppressed(reason="bounce with status 5.7", limit=3, after=first.suppressed[-1].id))
        assert (len(first.suppressed), first.more, len(rest.suppressed), rest.more) == (3, True, 2, False)

    def test_says_that_what_was_typed_is_no_address_and_does_not_repeat_it(self, app: App) -> None:
        with recorded_log() as log:
            answer = refused(app, {"operation": "list_suppressed", "email": "canary7f3a"})
        assert answer.error.fields == {"email": "is no address that mail can be sent to"}
        assert "anary7f3a" not in log.text + answer.model_dump_json()


class TestALift:
    def test_lets_the_next_mail_out(self, app: App, conn: Connection) -> None:
        bounced(app)
        assert lift(app) == {"lifted": 1, "not_suppressed": 0}
        number = withheld(app, conn)
        assert [mail.to for mail in app.email.sent] == [ADDRESS]  # type: ignore[attr-defined]
        assert recorded(conn) == [("sent", None)]
        assert ask(app, ListSuppressed()).suppressed == ()
        assert number

    def test_by_number_lifts_many_and_leaves_the_others(self, app: App) -> None:
        for index in range(3):
            bounced(app, f"ani{index}@example.com")
        rows = ask(app, ListSuppressed()).suppressed
        assert lift(app, ids=[rows[0].id, rows[2].id, 999_999]) == {"lifted": 2, "not_suppressed": 1}
        assert [row.id for row in ask(app, ListSuppressed()).suppressed] == [rows[1].id]

    def test_is_written_down_by_number_and_never_by_address(self, app: App, conn: Connection) -> None:
        bounced(app)
        with recorded_log() as log:
            lift(app)
        [(operation, request, reason, counts)] = conn.execute(
            "SELECT operation, request, reason, counts FROM operations_audit"
        ).fetchall()
        [(number,)] = conn.execute("SELECT id FROM suppressed_recipients").fetchall()
        assert (operation, request) == ("lift_suppressions", {"by": "address", "suppressions": [number]})
        assert (reason, counts) == ("the mailbox is back", {"lifted": 1, "not_suppressed": 0})
        assert "anary7f3a" not in log.text + json.dumps(request)

    def test_of_an_address_that_is_not_suppressed_changes_and_writes_nothing(self, app: App, conn: Connection) -> None:
        assert lift(app) == {"lifted": 0, "not_suppressed": 1}
        bounced(app)
        lift(app)
        assert lift(app) == {"lifted": 0, "not_suppressed": 1}
        assert len(audit(conn)) == 1

    def test_made_many_times_at_once_is_one(self, conn: Connection, database_url: str) -> None:
        ready = threading.Barrier(6)

        def one(_: int) -> int:
            ready.wait(timeout=20)
            return lift(many)["lifted"]

        with open_app(database_url, max_connections=6) as many, ThreadPoolExecutor(6) as pool:
            bounced(many)
            assert sum(pool.map(one, range(6))) == 1
        assert len(audit(conn)) == 1

    @pytest.mark.parametrize("which", [{}, {"email": ADDRESS, "ids": [1]}, {"ids": []}])
    def test_names_one_address_or_numbers(self, app: App, which: dict[str, Any]) -> None:
        event = {"operation": "lift_suppressions", "claimed_identity": ME, "reason": "x", **which}
        assert refused(app, event).error.code == "request_malformed"

    def test_needs_a_reason(self, app: App) -> None:
        event = {"operation": "lift_suppressions", "claimed_identity": ME, "email": ADDRESS}
        assert refused(app, event).error.fields == {"reason": "is missing"}


class TestABounceAfterALift:
    def test_suppresses_the_address_again(self, app: App, conn: Connection) -> None:
        bounced(app)
        lift(app)
        assert bounced(app, at=datetime.now(UTC) + timedelta(seconds=1)) == 1
        assert len(ask(app, ListSuppressed()).suppressed) == 1

    def test_that_says_not_when_it_happened_suppresses_too(self, app: App) -> None:
        bounced(app)
        lift(app)
        failure = DeliveryFailure(ADDRESS, FailureKind.COMPLAINT)
        assert suppress([failure], database=app.database) == 1

    def test_is_old_news_when_it_happened_before_the_lift_and_comes_late_or_twice(self, app: App) -> None:
        earlier = datetime.now(UTC) - timedelta(minutes=1)
        bounced(app, at=earlier)
        lift(app)
        assert bounced(app, at=earlier) == 0
        assert ask(app, ListSuppressed()).suppressed == ()

    def test_and_lifts_and_bounces_at_once_end_as_the_last_of_them_says(
        self, conn: Connection, database_url: str
    ) -> None:
        with open_app(database_url, max_connections=8) as many, ThreadPoolExecutor(8) as pool:
            bounced(many)
            later = datetime.now(UTC) + timedelta(hours=1)
            for _ in range(5):
                work = [pool.submit(lift, many) for _ in range(4)]
                work += [pool.submit(bounced, many, at=later) for _ in range(4)]  # type: ignore[arg-type]
                for each in work:
                    each.result(timeout=20)
                [(rows,)] = conn.execute("SELECT count(*) FROM suppressed_recipients").fetchall()
                assert rows == 1
            bounced(many, at=later)
            assert len(ask(many, ListSuppressed()).suppressed) == 1


class TestAWithheldMail:
    def test_is_recorded_and_sent_by_a_person_once_the_address_is_lifted(self, app: App, conn: Connection) -> None:
        bounced(app)
        number = withheld(app, conn)
        assert recorded(conn) == [("undeliverable", "the recipient is suppressed")]
        assert refused(app, resend(number).model_dump(mode="json")).error.code == "not_possible"
        lift(app)
        assert app.email.sent == []  # type: ignore[attr-defined]
        assert ask(app, resend(number)).counts == {"enqueued": 1}
        assert recorded(conn) == []
        confirm(app, number)
        assert recorded(conn) == [("sent", None)]

    def test_is_sent_again_once_however_often_a_person_asks(self, app: App, conn: Connection) -> None:
        bounced(app)
        number = withheld(app, conn)
        lift(app)
        before = jobs(conn)
        assert [ask(app, resend(number)).changed for _ in range(3)] == [1, 0, 0]
        assert jobs(conn) == before + 1
        assert [operation for operation, _, _ in audit(conn)] == ["lift_suppressions", "resend_mails"]

    def test_that_was_delivered_is_not_sent_again(self, app: App, conn: Connection) -> None:
        number = withheld(app, conn)
        assert ask(app, resend(number)).changed == 0
        assert recorded(conn) == [("sent", None)]

    def test_that_this_release_does_not_know_keeps_its_record(self, app: App, conn: Connection) -> None:
        number = withheld(app, conn)
        conn.execute("UPDATE order_notifications SET notification_type = 'later', status = 'undeliverable'")
        assert ask(app, resend(number)).changed == 0
        assert len(recorded(conn)) == 1

    def test_of_an_order_that_is_not_there_is_refused(self, app: App) -> None:
        assert refused(app, resend("SKN-00000-00000").model_dump(mode="json")).error.code == "not_possible"


def jobs(conn: Connection) -> int:
    [(count,)] = conn.execute("SELECT count(*) FROM jobs WHERE job_type = 'send_confirmation_email'").fetchall()
    return int(count)


class TestTheCommands:
    @pytest.fixture(autouse=True)
    def stage(self, app: App, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(OnCall, "_functions", InProcess(app))

    def run(self, *words: str) -> Result:
        return CliRunner().invoke(cli, ["mail", *words, "--stage", "tests"], catch_exceptions=False)

    def test_help_a_customer_who_gets_no_mail(self, app: App, conn: Connection) -> None:
        bounced(app)
        number = withheld(app, conn)
        listed = self.run("suppressed", "--email", ADDRESS)
        assert (listed.exit_code, number in listed.stdout, "permanent bounce" in listed.stdout) == (0, True, True)
        lifted = self.run("lift", ADDRESS, "--reason", "the mailbox is back")
        assert lifted.exit_code == 0
        assert "1 lifted, 0 not suppressed." in lifted.stdout
        assert f"skincare mail resend {number} --reason" in lifted.stdout
        assert self.run("resend", number, "--reason", "asked for").exit_code == 0
        confirm(app, number)
        assert len(app.email.sent) == 1  # type: ignore[attr-defined]
        for output in (listed.stdout, lifted.stdout):
            assert "anary7f3a" not in output

    def test_end_with_1_where_nothing_is_suppressed_or_withheld(self, conn: Connection) -> None:
        number = make_order(conn).order.order_number
        assert self.run("suppressed").exit_code == 1
        assert self.run("lift", ADDRESS, "--reason", "x").exit_code == 1
        assert self.run("resend", number, "--reason", "x").exit_code == 1

    def test_lift_the_victims_of_one_reason_by_their_numbers(self, app: App) -> None:
        for index in range(3):
            bounced(app, f"ani{index}@example.com")
        rows = json.loads(self.run("suppressed", "--json").stdout)
        ids = [word for row in rows for word in ("--id", str(row["id"]))]
        assert "3 lifted" in self.run("lift", *ids, "--reason", "our DMARC record was wrong").stdout

    def test_are_typed_wrongly_with_both_or_neither(self) -> None:
        assert self.run("lift", "--reason", "x").exit_code == 2
        assert self.run("lift", ADDRESS, "--id", "1", "--reason", "x").exit_code == 2
        assert self.run("suppressed", "--email", "no address").exit_code == 2
