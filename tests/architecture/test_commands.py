"""What documents tell people to type exists: our commands with their options and values, and those of AWS."""

import re

import pytest

from infra.stage import STAGES
from tests.architecture import aws_commands
from tests.architecture.test_documents import DOCUMENTS
from tests.architecture.tree import text_of
from tests.support.typed_commands import commands_in, commands_with, flaw_of, runbook_commands

LIVING = [name for name in DOCUMENTS if not name.startswith("docs/decisions/")]


def test_documents_name_commands() -> None:
    assert all(commands_in(text_of(name)) for name in ("README.md", "docs/operations.md", "docs/payments.md"))


def test_operations_lists_every_command_that_asks_the_oncall_function() -> None:
    described = set(commands_in(text_of("docs/operations.md")))
    commands = commands_with("--stage")
    assert len(commands) > 20
    assert [name for name in commands if not any(f"{each} ".startswith(f"{name} ") for each in described)] == []


@pytest.mark.parametrize("name", LIVING)
def test_the_commands_in_a_document_can_be_typed(name: str) -> None:
    flaws = {command: flaw_of(command) for command in commands_in(text_of(name))}
    assert {command: flaw for command, flaw in flaws.items() if flaw is not None} == {}


@pytest.mark.parametrize(
    ("command", "flaw"),
    [
        ("dlq", None),
        ('dlq discard JOB… --reason "…"', None),
        ("jobs list [--state STATE] [--limit N]", None),
        ("outbox status", "extra argument"),
        ("payments anomalies", "no command anomalies"),
        ("jobs list --colour red", "No such option"),
        ("jobs list --state asleep", "asleep"),
        ("jobs retry-now", None),
        ("jobs watch --json", "Missing argument"),
        ("dlq discard JOB", "Missing option"),
    ],
)
def test_what_cannot_be_typed_is_found(command: str, flaw: str | None) -> None:
    found = flaw_of(command)
    assert found is None if flaw is None else found is not None and flaw in found


def test_the_commands_of_a_runbook_are_those_that_begin_a_line_of_a_shell_block() -> None:
    text = "```sh\naws a\nskincare outbox   # late?\n# skincare no\n```\n\n```console\n$ skincare x\n```\n"
    assert runbook_commands(text) == [("outbox", "late?")]


@pytest.mark.parametrize("name", DOCUMENTS)
def test_the_commands_of_aws_in_a_document_exist(name: str) -> None:
    flaws = [aws_commands.flaw_of(*command) for command in aws_commands.aws_commands_in(text_of(name))]
    assert [flaw for flaw in flaws if flaw is not None] == []


@pytest.mark.parametrize(
    ("command", "flaw"),
    [
        ("aws logs tail /x --since 15m --filter-pattern '\"a\"'", None),
        ("aws deploy list-deployments --include-only-statuses InProgress", None),
        ("aws lambda remember-function", "AWS knows no lambda remember-function"),
        ("aws sqs get-queue-url --queue mine", "sqs get-queue-url has no queue"),
    ],
)
def test_what_aws_does_not_know_is_found(command: str, flaw: str | None) -> None:
    (found,) = aws_commands.aws_commands_in(f"`{command}`")
    assert aws_commands.flaw_of(*found) == flaw


def cdk_commands(name: str) -> list[str]:
    return [line.split("#")[0].strip() for line in text_of(name).splitlines() if line.startswith("scripts/cdk ")]


def test_documents_name_commands_of_the_cdk() -> None:
    assert all(cdk_commands(name) for name in ("README.md", "docs/deploy.md"))


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_command_of_the_cdk_names_a_stage_for_each_of_them_reads_the_app(name: str) -> None:
    stage = rf" -c stage=({'|'.join(STAGES)})\b"
    assert [command for command in cdk_commands(name) if not re.search(stage, command)] == []
