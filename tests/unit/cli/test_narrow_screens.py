"""What lists print fits a terminal of 80 columns with the longest values that there are, and nothing is cut off."""

import io
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import UTC, date, datetime, timedelta
from types import UnionType
from typing import Any, ClassVar, Union, get_args, get_origin, get_type_hints

import pytest
from rich.console import Console
from typer.testing import CliRunner

from cli import ids, tables
from cli.main import app as cli
from cli.oncall import OnCall
from oncall.job_requests import FindIds
from oncall.request import Query, Request
from oncall.requests import REQUESTS
from skincare.jobs.catalog import PAYLOADS

JOB = "01a22a41-6b21-7cce-a40e-17fc7222206d"
ORDER = "SKN-0XBYG-9THEF"
SENTENCE = "the provider answered 503 to everything that it was asked for four hours and has not said why"
LONGEST: dict[str, str] = {
    **dict.fromkeys(("id", "subject", "job_id"), JOB),
    **dict.fromkeys(("job_type", "type"), max((payload.job_type for payload in PAYLOADS), key=len)),
    **dict.fromkeys(("status", "told", "confirmed"), "partially_refunded"),
    "error_class": "IntegrityConstraintViolation",
    "gateway": "standard_webhooks",
    "kind": "order_differs_from_payment",
    "mail": "payment_received",
    "order_number": ORDER,
    "queue": "notifications",
    "state": "retry_waiting",
    "by": "arn:aws:sts::123456789012:assumed-role/oncall/ani.wijaya-kusuma@example.com",
}

OTHERS: Mapping[type, Callable[[str], Any]] = {
    datetime: lambda _: datetime.now(UTC) - timedelta(days=364, hours=23, minutes=50),
    bool: lambda name: name != "more",
    int: lambda _: 123_456_789,
    float: lambda _: 123_456_789.0,
    date: lambda _: date(2027, 12, 31),
    Sequence: lambda _: [ORDER] * 3,
    Mapping: lambda _: {},
}

LISTS = (
    "customer requests",
    "customer erase ani@example.com --all-accounts --dry-run --reason x",
    "dlq list",
    "dlq redrive --all --dry-run",
    "dlq discard --all --dry-run --reason x",
    "dlq acknowledge --all --dry-run --reason x",
    f"dlq show {JOB}",
    "dlq quarantined 1",
    "jobs list",
    "jobs cancel --all --dry-run --reason x",
    "jobs retry-now --all --dry-run",
    "jobs paused",
    f"jobs watch {JOB} --timeout 0",
    "mail suppressed",
    f"order {ORDER}",
    "outbox",
    "payments list",
    "retention",
    "stock show SERUM-30",
    "stock movements SERUM-30 --limit 2",
)


def longest(kind: Any, name: str = "") -> Any:
    """Return a value of this type that is as long as there are."""
    arguments = get_args(kind)
    kind = getattr(kind, "__supertype__", kind)
    origin = get_origin(kind) or kind
    if origin in {Union, UnionType}:
        found = longest(arguments[0], name)
    elif is_dataclass(kind):
        hints = get_type_hints(kind)
        found = kind(**{each.name: longest(hints[each.name], each.name) for each in fields(kind)})  # type: ignore[operator]
    elif origin is tuple:
        inner = arguments[:1] * 2 if arguments[-1] is Ellipsis else arguments
        found = tuple(longest(each, name) for each in inner)
    elif issubclass(origin, str):
        found = LONGEST.get(name, SENTENCE)
    else:
        found = OTHERS[origin](name)
    return found


class LongAnswers:
    """Answers everything with the longest values."""

    asked: ClassVar[set[type[Request]]] = set()

    def ask(self, request: Request) -> Any:
        self.asked.add(type(request))
        return longest(type(request).answer)


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """A terminal of 80 columns, on which tables are printed."""
    written = io.StringIO()
    console = Console(file=written, force_terminal=True, width=80, color_system=None)
    for module in (tables, ids):
        monkeypatch.setattr(module, "console", lambda: console)
    monkeypatch.setattr(OnCall, "ask", LongAnswers().ask)
    return written


@pytest.mark.parametrize("command", LISTS)
def test_a_list_fits_and_breaks_nothing_that_people_copy(terminal: io.StringIO, command: str) -> None:
    CliRunner().invoke(cli, [*command.split(), "--stage", "tests"], catch_exceptions=False)
    lines = terminal.getvalue().splitlines()
    assert [line for line in lines if len(line.rstrip()) > 80 or "…" in line] == []
    text = "\n".join(lines)
    for pattern, begun in (
        (rf"\b{ORDER}\b", "SKN-"),
        (r"\b01a22a41-6b21-7cce", "01a22a41"),
        (r"Rp123\.456\.789", "Rp"),
    ):
        assert len(re.findall(pattern, text)) == text.count(begun), begun
    for name in ("job_type", "gateway", "kind", "error_class"):
        begun = LONGEST[name][:7]
        assert text.count(begun) == text.count(LONGEST[name]), begun


def test_every_query_is_among_the_lists(terminal: io.StringIO) -> None:
    for command in LISTS:
        CliRunner().invoke(cli, [*command.split(), "--stage", "tests"], catch_exceptions=False)
    queries = {request for request in REQUESTS if issubclass(request, Query)}
    # How an id begins is answered with ids, printed without a table.
    assert queries - LongAnswers.asked == {FindIds}


def test_a_title_is_no_wider_than_its_words(terminal: io.StringIO) -> None:
    tables.print_table(("id",), [(1,)], title="\nEvents")
    assert terminal.getvalue().splitlines()[:2] == ["", "Events"]


def test_what_is_short_stays_a_table(terminal: io.StringIO) -> None:
    tables.print_table(("job", "type", "state"), [(JOB[:18], "expire_order", "pending")] * 2)
    assert len(terminal.getvalue().splitlines()) == 3


def test_a_pipe_has_tables_only(monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.StringIO()
    monkeypatch.setattr(tables, "console", lambda: Console(file=written, width=40))
    tables.print_table(("job", "order"), [(JOB, ORDER)] * 2)
    assert "order" in written.getvalue().splitlines()[0] or written.getvalue().startswith("job")
