"""Every parameter of every command, typed wrongly: refused before the system is asked, and told by its name."""

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.core import TyperGroup
from typer.testing import CliRunner

from cli.main import app
from cli.oncall import OnCall
from skincare.deployment.providers import Provider
from skincare.deployment.queues import QueueName
from skincare.jobs.models import JobState

GOOD = {
    "order": "SKN-00000-00001",
    "number": "SKN-00000-00001",
    "job": "01a22a41-6b21",
    "jobs": "01a22a41-6b21",
    "event": "01a22a41-6b21",
    "anomaly": "1",
    "finding": "1",
    "message": "1",
    "reason": "because",
    "gateway": "midtrans",
    "status": "paid",
    "switches": "mail_down",
    "queue": "payments",
    "email": "ani@example.com",
    "who": "ani@example.com",
    "request": "1",
    "to": "export.json",
    "sku": "SERUM-30",
    "delta": "1",
}
"""What stands for a parameter that a command cannot do without."""
BAD = {
    "order": ["nonsense", ""],
    "number": ["nonsense"],
    "before": ["yesterday", ""],
    "lasts": ["2", "91d"],
    "amount": ["59,000.00", "-1"],
    "fee": ["x"],
    "job": ["xyz", "%"],
    "jobs": ["xyz"],
    "event": ["xyz", "abc"],
    "anomaly": ["x", "0"],
    "finding": ["x", "0"],
    "message": ["x", "0", "-1", "1.5"],
    "ids": ["x", "0"],
    "limit": ["x", "0", "1001"],
    "timeout": ["x", "-1"],
    "max_rate": ["x", "0", "1001"],
    "duplicate": ["x", "101"],
    "expires_in": ["x", "0"],
    "reason": ["", "   ", "a\nb", "a\x1b[31m", "a\u202e", "a" * 501],
    "job_type": ["", "a\x00", "a" * 101],
    "error": ["", "a\x00"],
    "sku": ["", "a b", "a" * 33, "\u00df", "%"],
    "delta": ["x", "0", "1.5", "1000000001"],
    "key": ["", "a b", "a" * 300],
    "transaction": ["", "a\x1b", "a" * 129],
    "email": ["nobody", ""],
    "who": ["", "  ", "a\x00", "a" * 321],
    "request": ["x", "0"],
    "to": ["/", ""],
    "stage": ["a/b", ""],
    "queue": ["x", "", "PAYMENTS,documents"],
    "provider": ["x", ""],
    "state": ["x", "dead"],
    "gateway": ["x"],
    "switches": ["x"],
    "name": ["a\x1b"],
    "locale": ["a\x1b"],
}
FREE = {("webhook send", "status"), ("webhook send", "transaction")}
"""What only the local system is sent, rubbish too."""
OF_ANY_QUEUE = {"jobs list", "jobs cancel"}
"""They take the name of a queue that another release knows: whether it is one, the jobs tell."""


def commands(level: Any = None, name: str = "") -> Iterator[tuple[str, Any]]:
    level = level or typer.main.get_command(app)
    if not isinstance(level, TyperGroup):
        yield name, level
        return
    for each, inner in level.commands.items():
        yield from commands(inner, f"{name} {each}".strip())


def typed_with(command: Any, wrong: Any, value: str) -> list[str]:
    """Return the words of a command that is right but for one parameter."""
    options: list[str] = []
    arguments: list[str] = []
    for parameter in command.params:
        chosen = value if parameter is wrong else GOOD[parameter.name] if parameter.required else None
        if chosen is None:
            continue
        if parameter.param_type_name == "argument":
            arguments.append(chosen)
        else:
            options += [parameter.opts[0], chosen]
    if "--all" in {opt for parameter in command.params for opt in parameter.opts} and not arguments:
        options.append("--all")
    return [*options, "--", *arguments]


CASES = [
    pytest.param(name, command, parameter, value, id=f"{name}-{parameter.name}-{value[:12]!r}")
    for name, command in commands()
    for parameter in command.params
    if not getattr(parameter, "is_flag", False) and parameter.name != "help" and (name, parameter.name) not in FREE
    for value in BAD[parameter.name]
    if not (parameter.name == "queue" and value and name in OF_ANY_QUEUE)
]


@pytest.mark.parametrize(("name", "command", "parameter", "value"), CASES)
def test_a_wrong_word_is_refused_by_its_name_whatever_the_system_does(
    name: str, command: Any, parameter: Any, value: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def asked(*_: object) -> None:
        pytest.fail("the system was asked")

    monkeypatch.setattr(OnCall, "ask", asked)
    monkeypatch.setattr(OnCall, "identity", property(asked))
    monkeypatch.setenv("PORT", "1")
    as_json = ["--json"] if any("--json" in each.opts for each in command.params) else []
    given = CliRunner().invoke(
        app,
        [*name.split(), *as_json, *typed_with(command, parameter, value)],
        env={"COLUMNS": "200", "NO_COLOR": "1"},
        catch_exceptions=False,
    )
    assert (given.exit_code, given.stdout) == (2, ""), given.output
    shown = (parameter.metavar or parameter.name) if parameter.param_type_name == "argument" else parameter.opts[0]
    assert str(shown).strip("[]…") in given.stderr
    for words in ("Value error", "Input should", "Traceback"):
        assert words not in given.stderr


@pytest.mark.parametrize(
    ("typed", "choices"),
    [
        ("jobs retry-now --queue x", QueueName),
        ("jobs list --state x", JobState),
        ("dlq redrive --queue x", QueueName),
        ("dlq acknowledge --queue x --reason y", QueueName),
        ("jobs pause --provider x --reason y", Provider),
    ],
)
def test_a_wrong_choice_is_answered_with_the_right_ones(typed: str, choices: Any) -> None:
    given = CliRunner().invoke(app, shlex.split(typed), env={"COLUMNS": "200", "NO_COLOR": "1"})
    assert given.exit_code == 2
    assert f"must be one of {', '.join(choices)}" in given.stderr


def test_every_number_says_its_bounds() -> None:
    given = CliRunner().invoke(app, ["jobs", "list", "--limit", "0"], env={"COLUMNS": "200", "NO_COLOR": "1"})
    assert "must be at least 1" in given.stderr
