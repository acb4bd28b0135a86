"""What people type is read by one function for each kind: a new command or route cannot read it another way."""

import inspect
import re
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any, get_args, get_type_hints

import pytest
import typer

from cli.main import app as cli
from skincare.identifiers import read_order_number, read_sku
from skincare.moments import read_moment, read_span
from skincare.money import read_rupiah
from tests.architecture.tree import python_modules, text_of, tracked_files

READERS = {
    "order": read_order_number,
    "amount": read_rupiah,
    "fee": read_rupiah,
    "before": read_moment,
    "lasts": read_span,
    "sku": read_sku,
}


def commands(group: typer.Typer) -> Iterator[Callable[..., Any]]:
    for command in group.registered_commands:
        assert command.callback is not None
        yield command.callback
    for inner in group.registered_groups:
        assert inner.typer_instance is not None
        yield from commands(inner.typer_instance)


PARAMETERS = [
    pytest.param(name, hint, id=f"{command.__module__}.{command.__name__}.{name}")
    for command in commands(cli)
    for name, hint in get_type_hints(command, include_extras=True).items()
    if name != "return"
]


class TestACommand:
    @pytest.mark.parametrize(("name", "hint"), PARAMETERS)
    def test_reads_order_numbers_amounts_and_times_as_every_other_does(self, name: str, hint: Any) -> None:
        asked = next((each for each in getattr(hint, "__metadata__", ()) if hasattr(each, "parser")), None)
        reader = getattr(asked, "parser", None)
        expected = READERS.get(name)
        if datetime in (hint, *get_args(hint), *(each for part in get_args(hint) for each in get_args(part))):
            expected = read_moment
        if getattr(asked, "metavar", None) == "ORDER":
            expected = read_order_number
        assert (reader and inspect.unwrap(reader)) is expected

    def test_is_looked_at(self) -> None:
        assert {"cli.order.order.number", "cli.dlq.redrive.before", "cli.webhook.send.amount"} <= {
            str(parameter.id) for parameter in PARAMETERS
        }


class TestTheSource:
    def test_reads_the_order_of_a_path_in_one_place(self) -> None:
        reading = [name for name in python_modules() if 'path["order_number"]' in text_of(name)]
        assert [name for name in reading if not name.startswith("tests/")] == ["functions/api/route.py"]

    def test_writes_amounts_by_one_function(self) -> None:
        by_hand = re.compile(r"""Rp\.? ?['"{$]|:,\}""")
        written = [name for name in python_modules() if by_hand.search(text_of(name))]
        allowed = {"layers/shared/python/skincare/money.py"}
        assert {name for name in written if not name.startswith(("tests/", "bench/", "infra/"))} == allowed

    def test_prints_no_time_of_the_machine(self) -> None:
        local = re.compile(r"\.astimezone\(\)|datetime\.now\(\)|toLocale(?:Time|Date)?String|fromtimestamp\([\w.]*\)")
        pages = [name for name in tracked_files() if name.startswith("local/") and name.endswith(".js")]
        names = [*pages, *(name for name in python_modules() if not name.startswith(("tests/", "bench/")))]
        assert pages
        assert [f"{name}: {found[0]}" for name in names if (found := local.search(text_of(name)))] == []


def test_every_reader_refuses_without_repeating() -> None:
    for reader in READERS.values():
        with pytest.raises(ValueError, match=r"^must be ") as refusal:
            reader("canary!")
        assert "canary" not in str(refusal.value)
        assert inspect.getdoc(reader)
