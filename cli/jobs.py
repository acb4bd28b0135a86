"""`skincare jobs …`: what the ledger says."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from cli.system import plain_errors, running_system
from local.errors import LocalSystemError

if TYPE_CHECKING:
    from skincare.jobs.models import JobRow

app = typer.Typer(no_args_is_help=True, help="The jobs of the ledger.")

_ALL = 2**31 - 1
_FILE_WIDTH = 200


class State(StrEnum):
    """The states of a job, as docs/job-lifecycle.md explains them."""

    PENDING = "pending"
    QUEUED = "queued"
    PROCESSING = "processing"
    RETRY_WAITING = "retry_waiting"
    COMPLETED = "completed"
    DEAD_LETTER = "dead_letter"
    INVESTIGATED = "investigated"
    CANCELLED = "cancelled"


@app.callback()
def jobs() -> None:
    """The jobs of the ledger."""


@app.command("list")
def list_command(
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON list.")] = False,
    state: Annotated[State | None, typer.Option(help="Only jobs in this state.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=_ALL, help="How many of the newest; all by default.")] = _ALL,
) -> None:
    """Print the jobs, newest first."""
    with plain_errors():
        rows = _read(state, limit)
    if as_json:
        print(json.dumps([asdict(row) for row in rows], default=datetime.isoformat, indent=2))
    else:
        _print_table(rows)


def _read(state: State | None, limit: int) -> "list[JobRow]":
    from skincare.database.connection import Database, DatabaseUnavailable, StaticCredentials
    from skincare.jobs.repository.operations import list_jobs

    system = running_system()
    database = Database(StaticCredentials(system.database_url))
    try:
        with database.connection() as conn:
            return list_jobs(conn, state=state, limit=limit)
    except DatabaseUnavailable as error:
        raise LocalSystemError(f"The local system's database does not answer: {error}.") from error
    finally:
        database.close()


def _print_table(rows: "Sequence[JobRow]") -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for name in ("created", "type", "state", "order", "attempts", "crashes"):
        table.add_column(name, no_wrap=True)
    table.add_column("last error")
    for row in rows:
        table.add_row(
            f"{row.created_at.astimezone():%d.%m. %H:%M:%S}",
            row.type,
            row.state,
            row.order_number,
            str(row.attempts),
            str(row.crashes),
            f"{row.error_class}: {row.error_message}" if row.error_class else "",
        )
    console = Console()
    if not console.is_terminal:
        console.width = _FILE_WIDTH
    console.print(table)
