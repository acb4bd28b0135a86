"""Logs and metrics: stable event names, identifiers, and never what a customer or a provider said.

Log as `logger.info("job.completed", job_id=…)`. An exception is logged through `describe` or
`trace`, never by `logger.exception`: foreign messages quote rows, addresses and credentials.
"""

import logging
import traceback
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from aws_lambda_powertools import Logger
from aws_lambda_powertools.utilities.typing import LambdaContext

from skincare.errors import SkincareError
from skincare.log_line import LineFormatter

logger = Logger(service="skincare", logger_formatter=LineFormatter())

# Their debug lines hold bodies and Authorization headers, whatever level an operator asks for.
for _noisy in ("aws_lambda_powertools", "botocore", "boto3", "urllib3", "psycopg", "s3transfer"):
    logging.getLogger(_noisy).setLevel(logging.WARNING)


def describe(error: BaseException) -> str:
    """Return what may be written down about an error.

    Our own errors speak for themselves. Of a foreign one only the class, a SQLSTATE with its constraint,
    and the line of ours or its own where it was raised are logged.
    """
    if isinstance(error, SkincareError):
        return str(error)
    parts = [type(error).__name__]
    if state := getattr(error, "sqlstate", None):
        constraint = getattr(getattr(error, "diag", None), "constraint_name", None)
        parts.append(f"SQLSTATE {state}" + (f" on {constraint}" if constraint else ""))
    if frames := trace(error):
        parts.append(f"at {frames[-1]}")
    return " ".join(parts)


def trace(error: BaseException) -> list[str]:
    """Return the frames that an error came through as `file:line function`, outermost first, without values."""
    frames = traceback.extract_tb(error.__traceback__)
    return [f"{'/'.join(frame.filename.split('/')[-2:])}:{frame.lineno} {frame.name}" for frame in frames]


def start_invocation(**keys: Any) -> None:
    """Forget the keys of the invocation before, and log these with every line of this one."""
    logger.clear_state()
    logger.append_keys(**{name: value for name, value in keys.items() if value is not None})


def time_left(context: LambdaContext) -> Callable[[], timedelta]:
    """Return a clock of what an invocation still has."""
    return lambda: timedelta(milliseconds=context.get_remaining_time_in_millis())
