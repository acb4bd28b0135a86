"""The account that runs every program of PostgreSQL, and what such a program inherits from us."""

import contextlib
import errno
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import TypedDict

from emulator.postgres.errors import PostgresFailed

NOBODY = 65534
"""The account that runs the server when we are root, whom PostgreSQL refuses: the same number on every
Linux, so that no account has to be created."""

ENVIRONMENT = {"PATH": os.defpath, "TZ": "UTC"}
"""All that the server inherits: initdb would take the time zone of the developer, and RDS has UTC."""


class Account(TypedDict):
    """Keyword arguments of `subprocess.Popen`."""

    user: int | None
    group: int | None
    extra_groups: list[int] | None
    cwd: str
    env: dict[str, str]
    start_new_session: bool


def is_root() -> bool:
    return os.geteuid() == 0


def server_account() -> Account:
    """Return the account and the environment of every process of the server.

    A session of its own keeps a Ctrl-C at the terminal away from the database until we stop it ourselves.
    """
    account = NOBODY if is_root() else None
    groups: list[int] | None = [] if is_root() else None
    return Account(
        user=account,
        group=account,
        extra_groups=groups,
        cwd="/",
        env=ENVIRONMENT,
        start_new_session=True,
    )


def check_account() -> None:
    """Raise PostgresFailed where we are root and may not become the server's account, as in a rootless container."""
    if is_root():
        with _becoming_nobody():
            subprocess.run(["/bin/sh", "-c", ":"], check=False, **server_account())


def give_to_server(folder: Path) -> None:
    """Make the server's account the owner of one folder of ours, without what is in it. Raises PostgresFailed."""
    if is_root():
        with _becoming_nobody():
            os.chown(folder, NOBODY, NOBODY)


@contextlib.contextmanager
def _becoming_nobody() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno not in {errno.EPERM, errno.EINVAL}:
            raise
        raise PostgresFailed(
            "You are root here, PostgreSQL does not run as root, and this environment (a container without the right"
            " to change accounts?) allows no other account: start this as an ordinary user."
        ) from None


def run(command: list[str], *, stdin: str = "", check: bool = True) -> subprocess.CompletedProcess[str]:
    """Run a program to its end as the server's account; its stdout holds stderr too.

    Raises PostgresFailed when it fails, unless `check` is False.
    """
    done = subprocess.run(  # noqa: S603  no shell, and nothing in it comes from a request
        command,
        input=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        **server_account(),
    )
    if check and done.returncode != 0:
        raise PostgresFailed(f"{Path(command[0]).name} failed ({reason(done.stdout)}).")
    return done


def reason(said: str) -> str:
    """Return what a PostgreSQL program complained about, without time stamp and process number."""
    complaints = re.findall(r"(?:FATAL|PANIC|error): +(.+)", said)
    lines = said.strip().splitlines()
    return str(complaints[-1]) if complaints else lines[-1] if lines else "it said nothing"
