"""How commands find the local system, and how they say that they cannot."""

import contextlib
from collections.abc import Iterator

import typer

from local.errors import LocalSystemError
from local.settings import LocalSettings
from local.state import RunningSystem, Secrets, StateFolder


@contextlib.contextmanager
def plain_errors() -> Iterator[None]:
    """Turn a `LocalSystemError` into its sentence on stderr and exit code 1."""
    try:
        yield
    except LocalSystemError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(1) from None


def known_secrets() -> Secrets:
    """Return the secrets of this PORT's system, running or not; raises `LocalSystemError` if there never was one."""
    state = StateFolder.of_port(LocalSettings.from_env().port)
    secrets = state.known_secrets()
    if secrets is None:
        raise LocalSystemError(f"No local system was ever started on port {state.port}: {_way_out(state.port)}")
    return secrets


def running_system() -> RunningSystem:
    """Return the system that runs on this PORT; raises `LocalSystemError` if none does."""
    state = StateFolder.of_port(LocalSettings.from_env().port)
    system = state.running()
    if system is None:
        raise LocalSystemError(f"No local system runs on port {state.port}: {_way_out(state.port)}")
    return system


def _way_out(port: int) -> str:
    start = f"start it with `PORT={port} make run`"
    others = StateFolder.running_ports()
    return f"{start}, or say PORT={others[0]}, where one runs." if others else f"{start}."
