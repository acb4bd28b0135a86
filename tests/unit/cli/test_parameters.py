"""What people are told whose word a command cannot read."""

import re

import pytest
from typer.testing import CliRunner, Result

from cli.main import app
from tests.architecture.tree import text_of, tracked_files

READ_WRONGLY = {
    "an order": ("order", "nonsense"),
    "an order of a selection": ("dlq", "redrive", "--order", "SKN-1"),
    "an order to resend": ("mail", "resend", "1", "--reason", "asked for"),
    "an amount": ("payments", "refund", "SKN-00000-00000", "--reason", "broken", "--amount", "59,000.00"),
    "a fee": (
        "webhook",
        "send",
        "--gateway",
        "midtrans",
        "--order",
        "SKN-00000-00000",
        "--status",
        "paid",
        "--fee",
        "x",
    ),
    "a time": ("dlq", "redrive", "--before", "yesterday"),
}


def run(*words: str) -> Result:
    return CliRunner().invoke(app, words, env={"COLUMNS": "200", "NO_COLOR": "1"})


class TestAWordThatCannotBeRead:
    @pytest.mark.parametrize("words", READ_WRONGLY.values(), ids=READ_WRONGLY)
    def test_is_told_by_its_rule_alone(self, words: tuple[str, ...]) -> None:
        given = run(*words)
        assert given.exit_code == 2
        assert re.search(r"Invalid value for \S+ must be (an order number|whole rupiah|a time) such as", given.output)

    def test_is_read_so_by_every_command(self) -> None:
        commands = [name for name in tracked_files() if name.startswith("cli/") and name.endswith(".py")]
        parsers = [found for name in commands for found in re.findall(r"\bparser=(\w+)", text_of(name))]
        assert set(parsers) == {"parsed_by"}


class TestAToken:
    @pytest.mark.parametrize("option", ["--email", "--name", "--locale"])
    @pytest.mark.parametrize("text", ["a\udcff@example.com", "a\x1b@example.com", "a\u202e@example.com"])
    def test_is_not_made_of_what_nobody_sees(self, option: str, text: str) -> None:
        given = run("token", "--email", "ani@example.com", option, text)
        assert given.exit_code == 2
        assert f"Invalid value for {option}: must be text without" in given.output
        assert text not in given.output
