"""SQS to Lambda and back: the event of a batch, and what a function answers to it.

AWS: "Using Lambda with Amazon SQS" and "Handling errors for an SQS event source in Lambda".
"""

import json
from typing import TYPE_CHECKING, Any

from emulator.settings import REGION

if TYPE_CHECKING:
    from types_boto3_sqs.type_defs import MessageTypeDef


def failed_identifiers(answer: bytes) -> set[str] | None:
    """Return the message ids that a function reports as failed; None when the whole batch counts as failed.

    Nothing, null, {} and an empty or null list are success. An identifier that is missing, null, empty or no
    string fails the batch. A member of another name is a mistake of ours that Lambda may take for success:
    here it fails the batch, so that it is seen.
    """
    try:
        value: Any = json.loads(answer) if answer.strip() else None
    except ValueError:
        return None
    match value:
        case None | {"batchItemFailures": None}:
            return set()
        case {"batchItemFailures": list(failures)}:
            identifiers = [entry.get("itemIdentifier") if isinstance(entry, dict) else None for entry in failures]
            valid = {identifier for identifier in identifiers if isinstance(identifier, str) and identifier}
            return valid if len(valid) == len(set(identifiers)) else None
        case _:
            return set() if value == {} else None


def record(message: "MessageTypeDef", queue_arn: str) -> dict[str, Any]:
    """Return a message as Lambda hands it to a function."""
    entry: dict[str, Any] = {
        "messageId": message["MessageId"],
        "receiptHandle": message["ReceiptHandle"],
        "body": message["Body"],
        "attributes": dict(message.get("Attributes", {})),
        "messageAttributes": {
            name: {
                "stringValue": attribute.get("StringValue"),
                "stringListValues": [],
                "binaryListValues": [],
                "dataType": attribute["DataType"],
            }
            for name, attribute in message.get("MessageAttributes", {}).items()
        },
        "md5OfBody": message["MD5OfBody"],
        "eventSource": "aws:sqs",
        "eventSourceARN": queue_arn,
        "awsRegion": REGION,
    }
    if digest := message.get("MD5OfMessageAttributes"):
        entry["md5OfMessageAttributes"] = digest
    return entry
