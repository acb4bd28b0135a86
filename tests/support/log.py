"""The log as tests read it: the very lines that would reach the log group."""

import contextlib
import io
import json
import logging
from collections.abc import Iterator
from typing import Any, cast

from skincare.observability import logger

LOUD = {
    "POWERTOOLS_LOG_LEVEL": "DEBUG",
    "POWERTOOLS_LOGGER_LOG_EVENT": "true",
    "POWERTOOLS_DEBUG": "true",
    "AWS_LAMBDA_LOG_LEVEL": "DEBUG",
    "PYTHONWARNINGS": "default",
}
"""Every switch by which a person can make a function say more."""


class RecordedLog:
    """The lines that were written while recording."""

    def __init__(self, stream: io.StringIO) -> None:
        self._stream = stream

    @property
    def text(self) -> str:
        return self._stream.getvalue()

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.text.splitlines()]


@contextlib.contextmanager
def recorded_log() -> Iterator[RecordedLog]:
    """Record what our logger writes; it was given its stream before any test could replace it."""
    handler = cast("logging.StreamHandler[io.TextIOBase]", logger.registered_handler)
    stream = io.StringIO()
    before = handler.setStream(stream)
    try:
        yield RecordedLog(stream)
    finally:
        handler.setStream(before or handler.stream)
