"""A message as SQS and Lambda write it, read into ours; absent and odd attributes are no reason to fail."""

from base64 import b64encode
from collections.abc import Mapping
from typing import Any

from skincare.jobs.ports import ReceivedMessage


def message_from_record(record: Mapping[str, Any]) -> ReceivedMessage:
    """Read a record of the event that Lambda makes of SQS messages; nothing in it is taken for granted.

    A missing `messageId`, `receiptHandle` or `body` becomes an empty string. Source: "Using Lambda with
    Amazon SQS", example event.
    """
    return ReceivedMessage(
        message_id=_text(record.get("messageId")),
        receipt_handle=_text(record.get("receiptHandle")),
        body=_text(record.get("body")),
        receive_count=_receive_count(record.get("attributes")),
        attributes=_strings(record.get("messageAttributes"), "stringValue"),
        binary_attributes=_strings(record.get("messageAttributes"), "binaryValue"),
    )


def message_from_answer(message: Mapping[str, Any]) -> ReceivedMessage:
    """Read a message of the answer to ReceiveMessage."""
    return ReceivedMessage(
        message_id=message["MessageId"],
        receipt_handle=message["ReceiptHandle"],
        body=message["Body"],
        receive_count=_receive_count(message.get("Attributes")),
        attributes=_strings(message.get("MessageAttributes"), "StringValue"),
        binary_attributes=_strings(message.get("MessageAttributes"), "BinaryValue"),
    )


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _receive_count(attributes: object) -> int:
    value = attributes.get("ApproximateReceiveCount") if isinstance(attributes, Mapping) else None
    try:
        return max(int(value), 1) if isinstance(value, str | int) else 1
    except ValueError:
        return 1


def _strings(attributes: object, member: str) -> dict[str, str]:
    """Return one kind of attributes. Bytes come as base64: JSON holds them so, and an SDK that decodes is undone."""
    if not isinstance(attributes, Mapping):
        return {}
    values = {name: value.get(member) for name, value in attributes.items() if isinstance(value, Mapping)}
    texts = {name: b64encode(value).decode() if isinstance(value, bytes) else value for name, value in values.items()}
    return {name: text for name, text in texts.items() if isinstance(text, str)}
