"""A log line is Powertools' own, byte for byte, and made faster."""

import json
import logging
import sys
from typing import Any

import pytest
from aws_lambda_powertools.logging.formatter import RESERVED_LOG_ATTRS, LambdaPowertoolsFormatter
from hypothesis import given
from hypothesis import strategies as st

from skincare.log_line import LineFormatter

ENCODER = json.JSONEncoder(default=str, separators=(",", ":"), ensure_ascii=False)
OF_A_RECORD = {*vars(logging.makeLogRecord({})), *RESERVED_LOG_ATTRS, "message"}

names = st.text(min_size=1, max_size=8).filter(lambda name: name not in OF_A_RECORD)
values = st.none() | st.booleans() | st.integers() | st.text() | st.uuids() | st.lists(st.text())
keys = st.dictionaries(names, values, max_size=4)


def record(message: object = "job.completed", **more: Any) -> logging.LogRecord:
    made = {"msg": message, "levelname": "INFO", "funcName": "settle", "lineno": 7, "created": 1767225600.25}
    return logging.makeLogRecord(made | more)


def powertools() -> LambdaPowertoolsFormatter:
    return LambdaPowertoolsFormatter(json_serializer=ENCODER.encode, json_deserializer=str)


def both(made: logging.LogRecord, *, kept: dict[str, Any], of_thread: dict[str, Any]) -> tuple[str, str]:
    """Return the line of ours and of Powertools for the same record."""
    lines = []
    for formatter in (LineFormatter(), powertools()):
        formatter.append_keys(**kept)
        formatter.thread_safe_append_keys(**of_thread)
        try:
            lines.append(formatter.format(made))
        finally:
            formatter.thread_safe_clear_keys()
    return lines[0], lines[1]


@given(message=st.text(), kept=keys, of_thread=keys, extra=keys)
def test_a_line_is_the_one_that_powertools_makes(
    message: str, kept: dict[str, Any], of_thread: dict[str, Any], extra: dict[str, Any]
) -> None:
    ours, theirs = both(record(message, **extra), kept=kept, of_thread=of_thread)
    assert ours == theirs


@pytest.mark.parametrize("of_thread", [{}, {"job_id": "7"}])
@pytest.mark.parametrize("message", [{"event": "x"}, ["x"], 7, None])
def test_so_is_a_message_that_is_no_text(message: object, of_thread: dict[str, Any]) -> None:
    ours, theirs = both(record(message), kept={"service": "shop"}, of_thread=of_thread)
    assert ours == theirs


def test_so_is_one_with_arguments_or_an_exception() -> None:
    try:
        int("no number")
    except ValueError:
        failed = record(exc_info=sys.exc_info())
    for made in (failed, record("%s of %s", args=(1, 2))):
        ours, theirs = both(made, kept={}, of_thread={})
        assert ours == theirs


def test_a_trace_of_the_runtime_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_X_AMZN_TRACE_ID", "Root=1-5759e988-bd862e3fe1be46a994272793;Sampled=1")
    ours, theirs = both(record(), kept={}, of_thread={})
    assert ours == theirs
    assert json.loads(ours)["xray_trace_id"] == "1-5759e988-bd862e3fe1be46a994272793"


def test_a_line_in_full(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("_X_AMZN_TRACE_ID", raising=False)
    formatter = LineFormatter()
    formatter.append_keys(service="skincare", request_id="r-1")
    made = record(order_number="SKN-00000-00001", nothing=None)
    assert formatter.format(made) == (
        f'{{"level":"INFO","location":"settle:7","message":"job.completed","timestamp":"{formatter.formatTime(made)}",'
        '"service":"skincare","request_id":"r-1","order_number":"SKN-00000-00001"}'
    )
