"""Command lines of `skincare` as documents and alarms write them, held against the real command line."""

import re
import shlex
from typing import Any

import typer
from typer._click.exceptions import ClickException
from typer.core import TyperGroup

from cli.main import app

_FENCE = re.compile(r"^```\w*\n(.*?)^```", flags=re.MULTILINE | re.DOTALL)
_SHELL = re.compile(r"^```sh\n(.*?)^```", flags=re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"`([^`\n]+)`")
_COMMAND = re.compile(r"(?:^|[\s(])(?:\.venv/bin/)?skincare (?P<rest>[^#)]+)")

# What stands in a document for a value that its reader knows.
_EXAMPLES = {
    "JOB": "01a22a07-9923-74fb-893d-3d30e6e076d0",
    "EVENT": "01a22a07-b851-7907-95d9-dbef79ed3899",
    "EMAIL": "ani@example.com",
    "ORDER": "SKN-0XBYG-9THEF",
    "TYPE": "send_confirmation_email",
    "ERROR": "EmailUndeliverable",
    "STATE": "pending",
    "QUEUE": "payments",
    "ID": "1",
    "N": "1",
}
PLACEHOLDER = re.compile(rf"\b({'|'.join(_EXAMPLES)})\b…?")


def commands_in(document: str) -> list[str]:
    """Return what follows `skincare` in the code of a Markdown document; what a command prints is no command."""
    pieces = [line for block in _FENCE.findall(document) for line in _typed_lines(block)]
    pieces += _INLINE.findall(_FENCE.sub("", document))
    return [found["rest"].strip() for piece in pieces if (found := _COMMAND.search(piece))]


def runbook_commands(runbook: str) -> list[tuple[str, str]]:
    """Return the `skincare` commands that a runbook lets one type, in its order, each with its comment.

    They stand in blocks of the language `sh`; what a command prints stands in others.
    """
    lines = [line for block in _SHELL.findall(runbook) for line in block.replace("\\\n", " ").splitlines()]
    return [
        (found["rest"].strip(), line.partition("#")[2].strip()) for line in lines if (found := _COMMAND.match(line))
    ]


def flaw_of(command: str) -> str | None:
    """Return why the command line does not take a command, None where it does. Nothing is run.

    A name without anything behind it is a mention of the command, and not a flaw.
    """
    words = shlex.split(PLACEHOLDER.sub(lambda found: _EXAMPLES[found[1]], command.replace("[", "").replace("]", "")))
    level = typer.main.get_command(app)
    while isinstance(level, TyperGroup) and words:
        name, *words = words
        if name not in level.commands:
            return f"there is no command {name}"
        level = level.commands[name]
    if not words:
        return None
    try:
        level.make_context("skincare", words).close()
    except ClickException as error:
        return error.format_message()
    return None


def commands_with(option: str) -> list[str]:
    """Return the commands that take an option, such as `dlq list`."""
    found: list[str] = []

    def walk(level: Any, name: str) -> None:
        if isinstance(level, TyperGroup):
            for word, inner in level.commands.items():
                walk(inner, f"{name} {word}".strip())
        elif any(option in parameter.opts for parameter in level.params):
            found.append(name)

    walk(typer.main.get_command(app), "")
    return found


def _typed_lines(block: str) -> list[str]:
    lines = block.replace("\\\n", " ").splitlines()
    typed = [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
    return typed or lines
