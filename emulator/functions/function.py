"""A Lambda function as the emulator sees it."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Protocol

from emulator.settings import ACCOUNT_ID, REGION


@dataclass(frozen=True)
class FunctionDefinition:
    """A function's configuration, as AWS would be given it. `code` is the folder that its package is rooted at."""

    name: str
    handler: str
    timeout: timedelta
    memory_mb: int
    code: Path
    environment: Mapping[str, str] = field(repr=False)
    interpreter: str = sys.executable
    """The Python that runs it."""

    @property
    def arn(self) -> str:
        return f"arn:aws:lambda:{REGION}:{ACCOUNT_ID}:function:{self.name}"


class InvocationFailed(Exception):
    """The function gave no answer; the event may or may not have had its effect."""

    def __init__(self, error_type: str, detail: str) -> None:
        super().__init__(f"{error_type}: {detail}")
        self.error_type = error_type
        self.detail = detail


class FunctionStopped(InvocationFailed):
    """The local system stops; the function never got the event."""

    def __init__(self) -> None:
        super().__init__("Sandbox.Stopped", "the local system stops")


class Function(Protocol):
    """Something that can be invoked: a pool of containers, or a fake."""

    def invoke(self, payload: bytes, *, timeout: timedelta, trace_id: str | None = None) -> bytes:
        """Return the function's JSON answer to a JSON event; wait up to `timeout` for a free container.

        Raises `InvocationFailed`.
        """
        ...
