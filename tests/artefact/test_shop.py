"""The deployed functions do a shop's work from their layer and asset alone, over an empty database."""

import json
from typing import Any

from skincare.deployment.queues import QueueName
from tests.architecture.tree import ROOT
from tests.artefact import chapters
from tests.artefact.chapters import CUSTOMER, Ordered, Paid
from tests.artefact.deployed import Deployed

DATABASE = ROOT / "layers/shared/python/skincare/database"


class TestTheMigrator:
    def test_makes_the_whole_schema_from_an_empty_database(self, migrated: list[str]) -> None:
        assert sorted(migrated) == sorted(path.name for path in DATABASE.glob("*/*.sql"))

    def test_finds_nothing_to_do_the_second_time(self, deployed: Deployed, migrated: list[str]) -> None:
        assert deployed.invoke("migrator", {}) == {"applied": []}


class TestAnOrder:
    def test_is_placed_and_its_mail_is_sent_by_the_worker(self, ordered: Ordered) -> None:
        assert ordered.mail.startswith(CUSTOMER["email"])
        assert ordered.number in ordered.mail

    def test_that_a_webhook_says_is_paid_gets_its_mail_and_its_invoice(self, ordered: Ordered, paid: Paid) -> None:
        assert (paid.webhook_status, paid.order_status) == (200, "paid")
        assert paid.mail != ordered.mail
        assert paid.link_status == 303
        assert paid.file.startswith(b"%PDF-")

    def test_that_nobody_published_is_published_by_the_relay(self, relayed: dict[str, Any]) -> None:
        # A job and a dead letter of each queue, and what else was due.
        assert relayed["sent"] >= 6
        assert relayed["refused"] == relayed["unavailable"] == 0


class TestEveryGateway:
    def test_is_believed_by_its_own_signature(self, webhooks: dict[str, int]) -> None:
        assert webhooks == dict.fromkeys(chapters.PATHS, 200)


class TestOnCall:
    def test_brings_back_a_dead_job_of_each_queue(self, brought_back: dict[str, Any]) -> None:
        assert brought_back["dead"] >= 3
        assert brought_back["change"]["ok"] is True
        assert brought_back["change"]["answer"]["changed"] == brought_back["dead"]
        assert all(count >= 1 for count in brought_back["swept"].values())

    def test_hands_out_what_is_known_about_a_customer(self, ordered: Ordered, handed_out: Any) -> None:
        assert ordered.number in json.dumps(handed_out)


class TestAWorker:
    def test_sends_a_message_of_no_job_where_a_person_looks(self, buried: dict[QueueName, int]) -> None:
        assert buried == dict.fromkeys(QueueName, 1)

    def test_asks_ses_about_the_set_up_when_a_mail_is_refused(self, refused: list[str]) -> None:
        assert any(each.startswith("ses:GetAccount") for each in refused)
        assert any(each.startswith("ses:GetConfigurationSet") for each in refused)


class TestMailEvents:
    def test_are_remembered(self, bounced: dict[str, Any]) -> None:
        assert bounced == {"suppressed": 1}


class TestHealth:
    def test_is_answered(self, deployed: Deployed, migrated: list[str]) -> None:
        answer = chapters.ask(deployed, "GET", "/health", claims=None)
        assert answer["statusCode"] == 200
