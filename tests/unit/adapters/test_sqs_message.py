"""Records of Lambda's events become messages, whatever is missing or odd in them."""

from typing import Any

import pytest

from skincare.adapters.sqs_message import message_from_record
from skincare.jobs.ports import ReceivedMessage

RECORD: dict[str, Any] = {
    "messageId": "m-1",
    "receiptHandle": "rh-1",
    "body": "{}",
    "attributes": {"ApproximateReceiveCount": "3", "SentTimestamp": "1767225600000"},
    "messageAttributes": {
        "trace": {"stringValue": "Root=1", "dataType": "String"},
        "picture": {"binaryValue": "AA==", "dataType": "Binary"},
    },
    "eventSource": "aws:sqs",
}


class TestRecordsOfLambda:
    def test_become_messages(self) -> None:
        assert message_from_record(RECORD) == ReceivedMessage(
            "m-1", "rh-1", "{}", 3, {"trace": "Root=1"}, {"picture": "AA=="}
        )

    @pytest.mark.parametrize("member", list(RECORD))
    def test_lack_any_member_without_harm(self, member: str) -> None:
        message = message_from_record({name: value for name, value in RECORD.items() if name != member})
        assert message.receive_count == (1 if member == "attributes" else 3)

    @pytest.mark.parametrize("odd", [None, [], "x", 7, {"x": None}, {"trace": "text"}, {"trace": {"stringValue": 1}}])
    def test_hold_odd_values_without_harm(self, odd: object) -> None:
        message = message_from_record(dict.fromkeys(RECORD, odd))
        assert (message.receive_count, message.attributes) == (1, {})

    @pytest.mark.parametrize(
        ("value", "count"),
        [("12", 12), (12, 12), ("0", 1), ("-3", 1), ("x", 1), ("", 1), ("1.5", 1), (None, 1), ([], 1), ("9" * 5000, 1)],
    )
    def test_count_as_first_receive_when_the_count_is_odd(self, value: object, count: int) -> None:
        assert message_from_record({"attributes": {"ApproximateReceiveCount": value}}).receive_count == count
