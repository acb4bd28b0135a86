"""Handlers that misbehave in every way a function can; containers run them as they run real ones."""

import os
import signal
import sys
import time
from pathlib import Path
from typing import Any


def echo(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Answer what the function was given, and by which process."""
    return {
        "event": event,
        "pid": os.getpid(),
        "remaining_ms": context.get_remaining_time_in_millis(),
        "request_id": context.aws_request_id,
        "trace_id": os.environ.get("_X_AMZN_TRACE_ID"),
        "environment": dict(os.environ),
    }


def obey(event: dict[str, Any], context: Any) -> Any:
    """Do what the event says."""
    match event:
        case {"raise": text}:
            raise ValueError(text)
        case {"exit": code}:
            sys.stdout.flush()
            os._exit(code)
        case {"hang": True}:
            signal.pause()
        case {"announce_and_hang": file}:
            Path(file).touch()
            signal.pause()
        case {"print": text}:
            print(text)
        case {"answer_bytes": size}:
            return "x" * size
        case {"arrive_in": folder, "leave_by": file}:
            Path(folder, str(os.getpid())).touch()
            deadline = time.monotonic() + 30
            while not Path(file).exists() and time.monotonic() < deadline:
                time.sleep(0.005)
    return {"pid": os.getpid()}


def batch(event: dict[str, Any], context: Any) -> Any:
    """Handle an SQS batch: a body says what becomes of its message, or of all."""
    bodies = [record["body"] for record in event["Records"]]
    if "crash" in bodies:
        os._exit(1)
    if "hang" in bodies:
        signal.pause()
    failed = [record["messageId"] for record in event["Records"] if record["body"] == "fail"]
    return {"batchItemFailures": [{"itemIdentifier": identifier} for identifier in failed]}


def hold(event: dict[str, Any], context: Any) -> Any:
    """Never end."""
    signal.pause()
