"""What people copy from the screen stays in one piece on a terminal of 80 columns."""

import io

import pytest
from rich.console import Console

from cli import ids, selection, tables

JOB = "01a22a41-6b21-7cce-a40e-17fc7222206d"
ORDER = "SKN-0XBYG-9THEF"


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """A terminal of 80 columns."""
    written = io.StringIO()
    console = Console(file=written, force_terminal=True, width=80, color_system=None)
    for module in (tables, ids):
        monkeypatch.setattr(module, "console", lambda: console)
    return written


def test_ids_and_orders_are_not_broken(screen: io.StringIO) -> None:
    rows = [(ids.shown(JOB), "send_payment_received_email", "EmailProviderUnavailable", "x" * 90, ORDER, True)]
    tables.print_table(("job", "type", "error", "message", "order", "safe?"), rows)
    text = screen.getvalue()
    assert JOB[:18] in text
    assert ORDER in text
    assert max(len(line) for line in text.splitlines()) <= 80


def test_columns_that_say_nothing_are_left_out(screen: io.StringIO) -> None:
    tables.print_said(("job", "crashes", "order"), [(ids.shown(JOB), 0, None)])
    assert "crashes" not in screen.getvalue()
    assert "order" not in screen.getvalue()


def test_ids_are_whole_where_nobody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ids, "console", lambda: Console(file=io.StringIO(), width=240))
    assert ids.shown(JOB) == JOB
    assert selection.AT_ONCE == 100
