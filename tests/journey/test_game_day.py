"""A day on call: each failure is made in a running system and ended by typing what its runbook says.

Whether an alarm sounds is computed from what the alarm reads (the ledger's gauges, the depth of a dead-letter queue,
events in a log) and its own threshold.
"""

import contextlib
import json
import re
import shlex
import sys
import threading
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import cached_property, partial
from pathlib import Path

import pytest
from psycopg import Connection

from cli.oncall import Exit
from emulator.loopback.client import LoopbackClient
from emulator.loopback.ports import free_port
from emulator.settings import aws_credentials
from local.functions import LocalEnvironment
from local.queues import queue_url
from skincare import bootstrap
from skincare.adapters.aws import AwsSession
from skincare.adapters.sqs import WHILE_A_CUSTOMER_WAITS
from skincare.app import App
from skincare.bootstrap import build_app
from skincare.config import Settings
from skincare.deployment import alarms as rules
from skincare.deployment import log_events
from skincare.deployment.metrics import Metric
from skincare.deployment.providers import Provider
from skincare.deployment.queues import QueueName
from skincare.identifiers import new_job_id, uuid7
from skincare.jobs.catalog import BUDGETS, ProcessPayment, SendConfirmationEmail
from skincare.jobs.gauges import job_gauges
from skincare.jobs.relay import run_relay
from skincare.jobs.repository import outbox, pauses
from skincare.payments.gauges import payment_gauges
from tests.journey.conftest import ROOT, Terminals
from tests.journey.failures import LONG_TIMEOUTS, Failures
from tests.journey.test_make_run import READY, customer, mails_about, place_order
from tests.support import ledger
from tests.support.local_system import wait_for
from tests.support.typed_commands import PLACEHOLDER, runbook_commands
from tests.support.worker_bench import plenty

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="halts processes and looks for them in /proc")

SOON = timedelta(seconds=45)
QUIET = timedelta(seconds=3)
"""How long a log must be free of an event: the five minutes of its alarm, made short."""

VALUES = {
    "JOB": r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b",
    # Not that of the stray event, which the list of payments goes on to show.
    "ORDER": r"\bSKN-(?!00000)[0-9A-Z]{5}-[0-9A-Z]{5}\b",
    "ID": r"^ *(\d+)  wrong_amount ",
    "EVENT": r"^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})  standard_webhooks",
    "TYPE": r"--type (\S+)",
    "ERROR": r"--error (\S+)",
}
"""How the engineer finds on the screen what a command of a runbook leaves open."""


class OnCall:
    """An engineer with the runbooks, and the alarms that wake one."""

    def __init__(self, terminals: Terminals) -> None:
        self.terminals = terminals
        system = terminals.state.running()
        assert system is not None
        self._environment = LocalEnvironment(system.database_url, system.aws_endpoint_url)
        self.aws = AwsSession(system.aws_endpoint_url)
        self.failures = Failures(terminals.state, self.aws)
        self.screen = ""

    @cached_property
    def relay(self) -> App:
        return build_app(Settings.from_env(self._environment.relay().environment))

    @cached_property
    def impatient_relay(self) -> App:
        """The relay, but for how long it waits for a queue that does not answer."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(bootstrap, "IN_THE_BACKGROUND", WHILE_A_CUSTOMER_WAITS)
            return build_app(Settings.from_env(self._environment.relay().environment))

    def let_a_minute_pass(self, *, impatient: bool = False) -> None:
        """Let the relay run as its schedule does each minute."""
        app = self.impatient_relay if impatient else self.relay
        run_relay(database=app.database, queues=app.queues, publisher=app.publisher, budgets=BUDGETS, time_left=plenty)

    def gauge(self, metric: Metric) -> float:
        """Return what the relay would tell an alarm now."""
        return {**job_gauges(self.relay.database), **payment_gauges(self.relay.database)}[metric]

    def dead_letters(self, queue: QueueName) -> int:
        url = f"{queue_url(self.aws_endpoint, queue)}-dead-letters"
        names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
        found = self.aws.client("sqs", LONG_TIMEOUTS).get_queue_attributes(QueueUrl=url, AttributeNames=names)[
            "Attributes"
        ]
        return sum(int(found[name]) for name in names)

    @property
    def aws_endpoint(self) -> str:
        return self._environment.aws_endpoint_url

    def database(self) -> contextlib.AbstractContextManager[Connection]:
        return self.relay.database.connection()

    def take_in_stray_event(self, ago: timedelta) -> None:
        """Let a gateway have told, some time ago, of a payment for an order that is not ours."""
        event_id = uuid7()
        with self.database() as conn, conn.transaction():
            conn.execute(
                """
                INSERT INTO payment_events (id, gateway, event_key, body, headers, order_number, transaction_id,
                    reported_status, status, amount_rupiah, currency, state, received_at)
                VALUES (%(id)s, 'standard_webhooks', %(key)s, '{}', '{}', 'SKN-00000-00000', %(key)s,
                    'paid', 'paid', 59000, 'IDR', 'received', now() - %(ago)s)""",
                {"id": event_id, "key": str(event_id), "ago": ago},
            )
            job = outbox.insert(
                conn, new_job_id(), ProcessPayment(event_id=str(event_id)), order_number="SKN-00000-00000"
            )
        self.relay.publisher.publish_now([job])

    def holds_mail_back(self) -> bool:
        with self.database() as conn:
            return any(pause.name == Provider.SES for pause in pauses.active(conn))

    def log(self, function: str) -> "Log":
        return Log(self.terminals.state.logs / f"{function}.log")

    def follow(self, runbook: str, *, repair: Callable[[], None] = lambda: None) -> list[int]:
        """Type every `skincare` command of a runbook, in its order; return their exit codes.

        A command whose comment says that something is fixed waits for that: `repair` is called before.
        """
        codes = []
        for command, comment in runbook_commands((ROOT / f"docs/runbooks/{runbook}.md").read_text()):
            if "fixed" in comment:
                repair()
            words = shlex.split(self._filled(command.replace(" --stage prod", "")))
            done = self.terminals.cli(*words)
            self.screen += f"$ skincare {shlex.join(words)}\n{done.stdout}{done.stderr}"
            assert done.returncode != Exit.WRONG, self.screen
            codes.append(done.returncode)
        return codes

    def _filled(self, command: str) -> str:
        def from_screen(wanted: re.Match[str]) -> str:
            found = list(dict.fromkeys(re.findall(VALUES[wanted[1]], self.screen, flags=re.MULTILINE)))
            assert found, f"{command} needs what no command showed:\n{self.screen}"
            return " ".join(found) if wanted[0].endswith("…") else str(found[-1])

        return PLACEHOLDER.sub(from_screen, command)


class Log:
    """The lines that a function has written since this was made."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen = path.stat().st_size if path.exists() else 0

    def count(self, event: str, **at_least: int) -> int:
        """Count an event's lines whose fields have at least these values."""
        text = self._path.read_bytes()[self._seen :].decode() if self._path.exists() else ""
        lines = [json.loads(line) for line in text.splitlines() if f'"{event}"' in line]
        return sum(
            line["message"] == event and all((line.get(name) or 0) >= value for name, value in at_least.items())
            for line in lines
        )


@pytest.fixture(scope="module")
def shop() -> Iterator[OnCall]:
    """One shop for all failures: each leaves it as it was."""
    terminals = Terminals(free_port())
    with pytest.MonkeyPatch.context() as environment:
        for name, value in aws_credentials().items():
            environment.setenv(name, value)
        try:
            terminals.start("run").wait_for_line(READY)
            oncall = OnCall(terminals)
            yield oncall
            for app in (oncall.relay, oncall.impatient_relay):
                app.database.close()
        finally:
            terminals.close()


@pytest.fixture
def oncall(shop: OnCall) -> OnCall:
    """The engineer, before an empty screen."""
    shop.screen = ""
    return shop


def quiet(log: Log, event: str, **at_least: int) -> Callable[[], bool]:
    """Return what tells whether an event has stayed away for a while."""
    count, since = log.count(event, **at_least), time.monotonic()

    def look() -> bool:
        nonlocal count, since
        found = log.count(event, **at_least)
        if found != count:
            count, since = found, time.monotonic()
        return time.monotonic() - since >= QUIET.total_seconds()

    return look


class TestMailIsStopped:
    def test_its_runbook_gets_every_mail_sent(self, oncall: OnCall) -> None:
        log = oncall.log("worker-notifications")
        with contextlib.ExitStack() as failing:
            failing.enter_context(oncall.failures.mail_is_stopped())
            numbers = [place_order(oncall.terminals, f"mail-{each}") for each in range(2)]
            wait_for(
                lambda: log.count(log_events.MAIL_STOPPED.event) >= rules.EMAIL_SENDING_STOPPED.threshold,
                "the alarm",
                timeout=SOON,
            )
            wait_for(oncall.holds_mail_back, "the pause", timeout=SOON)
            oncall.follow("email-sending-stopped", repair=failing.close)
        for number in numbers:
            wait_for(partial(mails_about, oncall.terminals, number), "the mail", timeout=SOON)
            assert len(mails_about(oncall.terminals, number)) == 1
        # At least one of them waited for its next try when the engineer looked.
        assert any(number in oncall.screen for number in numbers)
        wait_for(quiet(oncall.log("worker-notifications"), log_events.MAIL_STOPPED.event), "silence", timeout=SOON)


class TestAPoisonJob:
    def test_its_runbook_shows_it_and_gives_it_up(self, oncall: OnCall) -> None:
        number = place_order(oncall.terminals, "poison")

        def dead_letters() -> int:
            oncall.let_a_minute_pass()
            return oncall.dead_letters(QueueName.NOTIFICATIONS)

        with oncall.database() as conn:
            # No release of ours can ever read it.
            outbox.insert(conn, new_job_id(), SendConfirmationEmail.model_construct(), order_number=number)
            ledger.let_pass(conn, timedelta(minutes=3))
        oncall.let_a_minute_pass()
        wait_for(lambda: oncall.gauge(Metric.DEAD_JOBS) == 1, "the dead job", timeout=SOON)
        wait_for(lambda: dead_letters() >= rules.DEAD_LETTERS.threshold, "the alarm", timeout=SOON)
        oncall.follow("dead-letters")
        assert number in oncall.screen
        assert "end without an effect" not in oncall.screen
        assert "1 of 1 discarded." in oncall.screen
        wait_for(lambda: dead_letters() < rules.DEAD_LETTERS.threshold, "the end of the alarm", timeout=SOON)
        assert oncall.gauge(Metric.DEAD_JOBS) == 0


class TestTheDatabaseIsGone:
    def test_its_runbook_tells_it_and_tells_when_it_is_back(self, oncall: OnCall) -> None:
        log = oncall.log("api")

        def ask() -> None:
            LoopbackClient(oncall.terminals.url).get("/v1/products")

        def failed() -> int:
            return log.count("http.request", status=500)

        with contextlib.ExitStack() as failing:
            failing.enter_context(oncall.failures.database_is_gone())
            customers = [threading.Thread(target=ask) for _ in range(int(rules.API_ERRORS.threshold))]
            for each in customers:
                each.start()
            for each in customers:
                each.join()
            wait_for(lambda: failed() >= rules.API_ERRORS.threshold, "the alarm", timeout=SOON)
            codes = oncall.follow("api-errors", repair=failing.close)
        assert codes == [Exit.UNREACHABLE, Exit.DONE]
        ask()
        wait_for(quiet(oncall.log("api"), "http.request", status=500), "silence", timeout=SOON)
        # It speaks for the workers too: they are seen again once each has asked the database.
        wait_for(lambda: LoopbackClient(oncall.terminals.url).get("/health").status == 200, "health", timeout=SOON)


class TestSqsIsDown:
    def test_its_runbook_ends_with_an_outbox_that_is_in_time(self, oncall: OnCall) -> None:
        with contextlib.ExitStack() as failing:
            failing.enter_context(oncall.failures.queues_hang())
            number = place_order(oncall.terminals, "waits")

            with oncall.database() as conn:
                ledger.let_pass(conn, timedelta(minutes=10))
            # Each run of the relay takes the job in vain: that makes it no less late.
            for _ in range(2):
                oncall.let_a_minute_pass(impatient=True)
                assert oncall.gauge(Metric.OUTBOX_LATENESS) >= rules.OUTBOX_LATE.threshold

            def repair() -> None:
                failing.close()
                with oncall.database() as conn:
                    ledger.let_pass(conn, timedelta(minutes=3))
                oncall.let_a_minute_pass()

            assert set(oncall.follow("outbox-late", repair=repair)) == {Exit.DONE}
            assert re.search(r"failing +[1-9]", oncall.screen), oncall.screen
        assert oncall.gauge(Metric.OUTBOX_LATENESS) < rules.OUTBOX_LATE.threshold
        wait_for(lambda: mails_about(oncall.terminals, number), "the mail", timeout=SOON)


class TestAStrayPaymentEvent:
    def test_its_runbook_sets_it_aside_for_good(self, oncall: OnCall) -> None:
        oncall.take_in_stray_event(timedelta(minutes=6))
        wait_for(
            lambda: oncall.gauge(Metric.UNAPPLIED_PAYMENT_EVENTS) >= rules.PAYMENT_EVENTS_UNAPPLIED.threshold,
            "the alarm",
            timeout=SOON,
        )
        assert set(oncall.follow("payment-events-unapplied")) == {Exit.DONE}, oncall.screen
        assert "Set aside; nothing waits for it any more." in oncall.screen
        for metric in (Metric.UNAPPLIED_PAYMENT_EVENTS, Metric.QUARANTINED_PAYMENT_EVENTS, Metric.DEAD_JOBS):
            assert oncall.gauge(metric) == 0, metric
        assert "0 fixed" in oncall.terminals.cli("payments", "reconcile").stdout


class TestForgedWebhooks:
    def test_its_runbook_shows_that_no_payment_is_missing(self, oncall: OnCall) -> None:
        log = oncall.log("api")
        number = place_order(oncall.terminals, "victim")
        send = ("webhook", "send", "--gateway", "standard_webhooks", "--order", number, "--status", "paid")
        forged = oncall.terminals.cli(*send, "--bad-signature", "--duplicate", "5")
        assert forged.stdout.count("401 ") == 6
        assert log.count(log_events.WEBHOOK_REFUSED.event) >= rules.WEBHOOKS_REFUSED.threshold, (
            "the alarm does not sound"
        )
        assert set(oncall.follow("webhooks-refused")) == {Exit.DONE}, oncall.screen
        assert "0 events not applied" in oncall.screen
        wait_for(quiet(oncall.log("api"), log_events.WEBHOOK_REFUSED.event), "silence", timeout=SOON)
        assert customer(oncall.terminals, "victim").get(f"/v1/orders/{number}").body["status"] == "pending"


class TestAWrongAmount:
    def test_its_runbook_ends_with_a_person_who_dealt_with_it(self, oncall: OnCall) -> None:
        number = place_order(oncall.terminals, "paid-too-little")
        paid = ("webhook", "send", "--gateway", "standard_webhooks", "--order", number, "--status", "paid")
        assert oncall.terminals.cli(*paid, "--amount", "1").stdout.startswith("200 ")
        wait_for(
            lambda: oncall.gauge(Metric.OPEN_PAYMENT_ANOMALIES) >= rules.PAYMENT_ANOMALIES.threshold,
            "the alarm",
            timeout=SOON,
        )
        assert set(oncall.follow("payment-anomalies")) == {Exit.DONE}, oncall.screen
        assert "wrong_amount" in oncall.screen
        assert oncall.gauge(Metric.OPEN_PAYMENT_ANOMALIES) < rules.PAYMENT_ANOMALIES.threshold
        assert customer(oncall.terminals, "paid-too-little").get(f"/v1/orders/{number}").body["status"] == "pending"
