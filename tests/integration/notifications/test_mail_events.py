"""Bounces and complaints: who gets no mail any more, and who does."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from psycopg import Connection

from mail_events.lambda_function import lambda_handler
from skincare.adapters.ses_events import failures_in
from skincare.app import App
from skincare.database.connection import DatabaseUnavailable
from skincare.deployment.log_events import BOUNCE_OF_OURS
from skincare.jobs.catalog import SendConfirmationEmail
from skincare.notifications.suppression import is_our_fault, reason_to_suppress
from tests.support.factories import make_order
from tests.support.http import NOWHERE, FakeContext, make_app
from tests.support.log import recorded_log
from worker.handlers import send_confirmation_email

ADDRESS = "Canary7f3a@example.com"


def bounce(kind: str, subtype: str = "General", status: str | None = None, address: str = ADDRESS) -> dict[str, Any]:
    """An event as EventBridge delivers it, with the fields that matter and some that do not."""
    recipient = {"emailAddress": address, "action": "failed", "diagnosticCode": f"smtp; 550 no {address}"}
    return {
        "version": "0",
        "source": "aws.ses",
        "detail-type": "Email Bounced",
        "detail": {
            "eventType": "Bounce",
            "bounce": {
                "bounceType": kind,
                "bounceSubType": subtype,
                "bouncedRecipients": [recipient | ({} if status is None else {"status": status})],
            },
            "mail": {"messageId": "message-1", "destination": [address]},
        },
    }


def complaint(feedback: str | None = "abuse") -> dict[str, Any]:
    return {
        "detail": {
            "eventType": "Complaint",
            "complaint": {"complainedRecipients": [{"emailAddress": ADDRESS}], "complaintFeedbackType": feedback},
            "mail": {"messageId": "message-1"},
        }
    }


BLOCKED = [
    (bounce("Permanent"), "permanent bounce"),
    (bounce("Permanent", "OnAccountSuppressionList"), "permanent bounce"),
    (bounce("Transient", status="5.1.1"), "bounce with status 5.1.1"),
    (bounce("Undetermined", status="5.1.10"), "bounce with status 5.1.10"),
    (complaint(), "complaint"),
    (complaint(None), "complaint"),
]
NOT_BLOCKED = [
    bounce("Transient", "MailboxFull"),
    bounce("Transient", "MailboxFull", "5.2.2"),
    bounce("Transient", "General", "5.2.2"),
    bounce("Transient", "General", "4.4.7"),
    bounce("Transient", "MessageTooLarge", "5.3.4"),
    bounce("Transient", "ContentRejected", "5.6.1"),
    bounce("Transient"),
    bounce("Undetermined"),
    complaint("not-spam"),
]
OURS = [
    bounce("Transient", status="5.7.26"),
    bounce("Transient", status="5.7.1"),
    bounce("Permanent", status="5.7.26"),
    bounce("Permanent", "OnAccountSuppressionList", "5.7.1"),
    bounce("Transient", status="4.7.0"),
    bounce("Permanent", status="5.1.8"),
    bounce("Transient", status="5.1.7"),
    bounce("Transient", status="5.4.4"),
    bounce("Transient", status="5.3.2"),
    bounce("Transient", status="5.2.0"),
    bounce("Transient", status="5.5.0"),
    bounce("Undetermined", status="5.0.0"),
]


class TestAFailure:
    @pytest.mark.parametrize(("event", "reason"), BLOCKED)
    def test_that_will_stay_blocks_its_recipient(self, event: dict[str, Any], reason: str) -> None:
        assert [reason_to_suppress(failure) for failure in failures_in(event)] == [reason]

    @pytest.mark.parametrize("event", NOT_BLOCKED)
    def test_that_may_pass_blocks_nobody(self, event: dict[str, Any]) -> None:
        assert [failure for failure in failures_in(event) if reason_to_suppress(failure)] == []

    @pytest.mark.parametrize("event", OURS)
    def test_that_is_about_us_or_the_way_blocks_nobody_and_is_ours_to_mend(self, event: dict[str, Any]) -> None:
        assert [(reason_to_suppress(each), is_our_fault(each)) for each in failures_in(event)] == [(None, True)]

    @pytest.mark.parametrize("event", [*(event for event, _ in BLOCKED), *NOT_BLOCKED])
    def test_that_is_about_its_recipient_or_one_mail_is_not_ours_to_mend(self, event: dict[str, Any]) -> None:
        assert [failure for failure in failures_in(event) if is_our_fault(failure)] == []

    @pytest.mark.parametrize("status", ["5.1.0", "5.1.1", "5.1.2", "5.1.3", "5.1.4", "5.1.6", "5.1.10", "5.2.1"])
    def test_whose_status_is_about_the_address_blocks_it(self, status: str) -> None:
        [failure] = failures_in(bounce("Transient", status=status))
        assert reason_to_suppress(failure) == f"bounce with status {status}"

    def test_does_not_show_its_recipient(self) -> None:
        assert "anary7f3a" not in repr(failures_in(bounce("Permanent")))


STATUSES = st.builds(
    "{}.{}.{}".format, st.sampled_from([2, 4, 5]), st.integers(0, 9), st.one_of(st.integers(0, 30), st.integers(0, 999))
)
BOUNCE_TYPES = st.sampled_from(["Permanent", "Transient", "Undetermined", "Other"])
SUBTYPES = st.sampled_from(
    [
        "General",
        "NoEmail",
        "Suppressed",
        "OnAccountSuppressionList",
        "MailboxFull",
        "MessageTooLarge",
        "ContentRejected",
        "Other",
    ]
)


class TestEveryStatus:
    """Each status of RFC 3463 with each type of bounce."""

    @given(status=STATUSES, kind=BOUNCE_TYPES, subtype=SUBTYPES)
    def test_blocks_only_by_what_is_said_of_the_address(self, status: str, kind: str, subtype: str) -> None:
        [failure] = failures_in(bounce(kind, subtype, status))
        _, subject, detail = map(int, status.split("."))
        if reason_to_suppress(failure) is not None:
            assert status.startswith("2.") or (subject != 7 and (subject, detail) not in {(1, 7), (1, 8)})
            assert kind == "Permanent" or (status.startswith("5.") and (subject == 1 or status == "5.2.1"))
        elif kind == "Permanent":
            assert is_our_fault(failure)

    @given(status=STATUSES, kind=BOUNCE_TYPES, subtype=SUBTYPES)
    def test_is_never_both_the_recipients_and_ours(self, status: str, kind: str, subtype: str) -> None:
        [failure] = failures_in(bounce(kind, subtype, status))
        assert not (reason_to_suppress(failure) and is_our_fault(failure))

    @given(status=STATUSES, kind=BOUNCE_TYPES)
    def test_that_refuses_for_good_either_blocks_or_alarms_or_is_about_one_mail(self, status: str, kind: str) -> None:
        [failure] = failures_in(bounce(kind, status=status))
        if status.startswith("5."):
            of_one_mail = status.startswith("5.6.") or status in {"5.2.2", "5.2.3", "5.3.4"}
            assert reason_to_suppress(failure) or is_our_fault(failure) or of_one_mail

    @given(status=st.text(max_size=12), kind=BOUNCE_TYPES)
    def test_that_is_none_leaves_it_to_the_providers_word(self, status: str, kind: str) -> None:
        [failure] = failures_in(bounce(kind, status=f"x{status}"))
        assert reason_to_suppress(failure) == ("permanent bounce" if kind == "Permanent" else None)


@pytest.fixture
def served(app: App, monkeypatch: pytest.MonkeyPatch) -> App:
    monkeypatch.setattr("mail_events.lambda_function.get_app", lambda _: app)
    return app


def take(event: Any) -> dict[str, int]:
    return lambda_handler(event, FakeContext())  # type: ignore[arg-type]


class TestTheFunction:
    def test_remembers_an_address_once_and_no_mail_goes_there_any_more(self, served: App, conn: Connection) -> None:
        assert take(bounce("Permanent")) == {"suppressed": 1}
        assert take(complaint()) == {"suppressed": 0}
        assert conn.execute(
            "SELECT email = address_hash(%s), reason FROM suppressed_recipients", [ADDRESS]
        ).fetchall() == [(True, "permanent bounce")]
        number = make_order(conn, email=ADDRESS).order.order_number
        send_confirmation_email.handle(SendConfirmationEmail(order_number=number), served)
        assert served.email.sent == []  # type: ignore[attr-defined]

    def test_lets_a_full_mailbox_have_the_next_mail(self, served: App, conn: Connection) -> None:
        assert take(bounce("Transient", "MailboxFull")) == {"suppressed": 0}
        assert conn.execute("SELECT count(*) FROM suppressed_recipients").fetchone() == (0,)

    @pytest.mark.parametrize("event", OURS)
    def test_lets_no_customer_suffer_for_our_set_up_and_says_so_in_its_log(
        self, served: App, conn: Connection, event: dict[str, Any]
    ) -> None:
        with recorded_log() as log:
            assert take(event) == {"suppressed": 0}
        assert conn.execute("SELECT count(*) FROM suppressed_recipients").fetchone() == (0,)
        [line] = [line for line in log.lines if line["message"] == BOUNCE_OF_OURS.event]
        assert (line["level"], line["provider_message_id"]) == ("ERROR", "message-1")
        assert "anary7f3a" not in log.text

    def test_logs_no_address(self, served: App) -> None:
        with recorded_log() as log:
            take(bounce("Permanent"))
            take(bounce("Permanent", address="Canary7f3a at example"))
            take({"detail": {"eventType": "Delivery", "mail": {"messageId": "message-1"}}})
        assert "anary7f3a" not in log.text
        assert [line["message"] for line in log.lines] == [
            "mail_event.taken",
            "mail_event.malformed",
            "mail_event.taken",
        ]

    @pytest.mark.parametrize(
        "event",
        [
            None,
            [],
            {},
            {"detail": "x"},
            {"detail": {}},
            {"detail": {"eventType": 1}},
            {"detail": {"eventType": "Bounce"}},
            {"detail": {"eventType": "Bounce", "bounce": {"bouncedRecipients": "x"}}},
            {"detail": {"eventType": "Complaint", "complaint": {"complainedRecipients": [1]}}},
        ],
    )
    def test_does_not_stumble_over_what_is_no_event_of_ses(self, served: App, event: Any) -> None:
        assert take(event) == {"suppressed": 0}

    def test_fails_while_the_database_is_away_so_that_the_event_comes_again(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        app = make_app(NOWHERE)
        monkeypatch.setattr("mail_events.lambda_function.get_app", lambda _: app)
        with pytest.raises(DatabaseUnavailable):
            take(bounce("Permanent"))
