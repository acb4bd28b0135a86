"""Failures of a running local system, made from outside: by signals, and by what an account at AWS may lose.

Each is a block: what fails works again behind it.
"""

import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import psycopg

from local.functions import MAIL_FROM
from local.state import StateFolder
from skincare.adapters.aws import AwsSession, Timeouts

LONG_TIMEOUTS = Timeouts(connect=timedelta(seconds=5), read=timedelta(seconds=20))


class Failures:
    """The failures of one system. `aws` finds its SES."""

    def __init__(self, state: StateFolder, aws: AwsSession) -> None:
        self._state = state
        self._aws = aws

    @contextmanager
    def mail_is_stopped(self) -> Iterator[None]:
        """SES knows our sender no more: it refuses every mail."""
        ses = self._aws.client("sesv2", LONG_TIMEOUTS)
        ses.delete_email_identity(EmailIdentity=MAIL_FROM)
        try:
            yield
        finally:
            ses.create_email_identity(EmailIdentity=MAIL_FROM)

    @contextmanager
    def queues_hang(self) -> Iterator[None]:
        """SQS takes connections and answers nothing. The local SES hangs with it."""
        with _halted(self._child("aws")):
            yield

    @contextmanager
    def database_is_gone(self) -> Iterator[None]:
        """Every connection ends, and none is taken."""
        system = self._state.running()
        assert system is not None
        with psycopg.connect(system.database_url, autocommit=True) as conn, _halted(self._postmaster()):
            conn.execute("""
                SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                WHERE usename = current_user AND pid <> pg_backend_pid()""")
            conn.close()
            yield

    def _child(self, name: str) -> int:
        found = [json.loads(file.read_text()) for file in self._state.children("run").glob("*.json")]
        (pid,) = [child["pid"] for child in found if child["name"] == name]
        return int(pid)

    def _postmaster(self) -> int:
        return int((self._state.postgres / "data" / "postmaster.pid").read_text().splitlines()[0])


@contextmanager
def _halted(pid: int) -> Iterator[None]:
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)
