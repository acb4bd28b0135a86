"""Each lasting decision of docs/operations.md is shown by the command of its row and ended by the others, audited."""

import re
from collections.abc import Callable
from dataclasses import dataclass

import psycopg
import pytest
from psycopg import Connection
from typer.testing import CliRunner, Result

from cli.main import app as cli
from cli.oncall import OnCall
from skincare.app import App
from skincare.deployment.queues import QueueName
from skincare.jobs.repository import operations, quarantine
from tests.architecture.tree import text_of
from tests.support import ledger
from tests.support.oncall import InProcess, audit, dead_job
from tests.support.payments import checked, new_order, take_in, tell

WHY = ["--reason", "looked at"]


@dataclass(frozen=True)
class Decision:
    """A decision that was made: how it shows, and what to type to end it, by the command of the document."""

    shows_as: str
    ends: dict[str, list[str]]
    show: tuple[str, ...] = ()


@dataclass(frozen=True)
class Shop:
    app: App
    conn: Connection
    owner: Connection

    def one(self, query: str) -> str:
        row = self.conn.execute(query.encode()).fetchone()
        assert row is not None
        return str(row[0])


def dead(shop: Shop) -> Decision:
    job = str(dead_job(shop.conn).job_id)
    return Decision("NoSuchOrder", {"dlq redrive": [job, *WHY], "dlq discard": [job, *WHY]})


def acknowledged(shop: Shop) -> Decision:
    job = str(dead_job(shop.conn).job_id)
    assert typed("dlq acknowledge", job, *WHY).exit_code == 0
    return Decision("Acknowledged", {"dlq unacknowledge": [job, *WHY]})


def cancelled(shop: Shop) -> Decision:
    job = ledger.enqueue(shop.conn)
    operations.cancel(shop.conn, [job.job_id])
    return Decision(str(job.job_id), {"jobs revive": [str(job.job_id), *WHY]})


def quarantined_message(shop: Shop) -> Decision:
    number = quarantine.keep(shop.conn, QueueName.PAYMENTS, "{x", {}, reason="the body is not JSON")
    return Decision("the body is not JSON", {"dlq close": [str(number), *WHY]})


def unreadable(shop: Shop) -> Decision:
    take_in(shop.app, order_number="\x00")
    event = shop.one("SELECT id FROM payment_events")
    return Decision(event, {"payments review": [event, *WHY]})


def overdue(shop: Shop) -> Decision:
    take_in(shop.app, order_number="SKN-4T9QX-0M7KD")
    shop.owner.execute("UPDATE payment_events SET state = 'quarantined', flaw = 'no order of this number came'")
    event = shop.one("SELECT id FROM payment_events")
    return Decision(
        "no order of this number came", {"payments take-up": [event, *WHY], "payments review": [event, *WHY]}
    )


def set_aside(shop: Shop) -> Decision:
    take_in(shop.app, order_number="SKN-4T9QX-0M7KD", status="expired")
    event = shop.one("SELECT id FROM payment_events")
    assert typed("payments set-aside", event, *WHY).exit_code == 0
    return Decision("Set aside by people", {"payments take-up": [event, *WHY]})


def anomaly(shop: Shop) -> Decision:
    number = new_order(shop.conn)
    tell(shop.app, number, "paid", amount_rupiah=1)
    (found,) = (shop.one("SELECT id FROM payment_anomalies"),)
    return Decision(
        "wrong_amount",
        {"payments refund": [number, "--anomaly", found, *WHY], "payments resolve": [found, *WHY]},
    )


def finding(shop: Shop) -> Decision:
    tell(shop.app, new_order(shop.conn), "paid")
    shop.conn.execute("UPDATE orders SET status = 'refunded'")
    checked(shop.app)
    found = shop.one("SELECT id FROM reconciliation_findings")
    return Decision("order_differs_from_payment", {"payments settle": [found, *WHY], "--undo": []})


def refused(shop: Shop) -> Decision:
    number = new_order(shop.conn)
    tell(shop.app, number, "paid")
    assert typed("payments refund", number, "--key", "k-1", *WHY).exit_code == 0
    shop.conn.execute("UPDATE refunds SET state = 'refused', refusal = 'too old'")
    return Decision("now refused: too old", {"payments refund": [number, "--key", "k-2", *WHY]}, show=(number,))


MADE: dict[tuple[str, str], Callable[[Shop], Decision]] = {
    ("a job is dead", "its budget"): dead,
    ("a dead job is acknowledged", "somebody"): acknowledged,
    ("a job is cancelled", "somebody"): cancelled,
    ("a message is quarantined", "it belongs"): quarantined_message,
    ("a payment event is quarantined", "nobody"): unreadable,
    ("a payment event is quarantined", "its order"): overdue,
    ("a payment event is set aside", "somebody"): set_aside,
    ("money is an anomaly", "it does"): anomaly,
    ("the books do not agree", "the reconciliation"): finding,
    ("a refund is refused", "the gateway"): refused,
}


def rows() -> list[tuple[str, str, str, list[str]]]:
    """Return the table: what was decided, why, the command that shows it, and those that end it."""
    section = text_of("docs/operations.md").split("## What was decided")[1].split("\n## ")[0]
    found = []
    for line in section.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 4 and cells[0] not in {"decided", "---"}:
            ends = re.findall(r"`(?:skincare )?([^`]+)`", cells[3])
            found.append((cells[0], cells[1], cells[2].strip("`").removeprefix("skincare "), ends))
    return found


TYPED = [(what, why, shown, end) for what, why, shown, ends in rows() for end in ends if end != "--undo"]


def typed(command: str, *words: str) -> Result:
    return CliRunner().invoke(cli, [*command.split(), *words, "--stage", "tests"], catch_exceptions=False)


@pytest.fixture
def shop(app: App, conn: Connection, owner_url: str, monkeypatch: pytest.MonkeyPatch) -> "Shop":
    monkeypatch.setattr(OnCall, "_functions", InProcess(app))
    return Shop(app, conn, psycopg.connect(owner_url, autocommit=True))


def made(what: str, why: str, shop: Shop) -> Decision:
    """Make the decision of a row, or fail because nobody has said how."""
    for (decided, begins), make in MADE.items():
        if what == decided and why.startswith(begins):
            return make(shop)
    pytest.fail(f"no test makes the decision {what!r} because {why!r}")


def test_every_decision_that_is_made_here_stands_in_the_document() -> None:
    assert len(rows()) == len(MADE)


@pytest.mark.parametrize(("what", "why", "shown", "end"), TYPED)
def test_a_decision_is_shown_ended_and_audited(shop: Shop, what: str, why: str, shown: str, end: str) -> None:
    decision = made(what, why, shop)
    before = len(audit(shop.conn))
    assert decision.shows_as in typed(shown, *decision.show).stdout
    ended = typed(end, *decision.ends[end])
    assert ended.exit_code == 0, ended.output
    after = audit(shop.conn)
    assert len(after) == before + 1
    assert after[-1][1] == "looked at"
    if end != "payments refund":
        # A refund only begins: the gateway's event ends it.
        assert decision.shows_as not in typed(shown, *decision.show).stdout
    shop.owner.close()
