"""SendMessageBatch of SQS without the SDK."""

import json
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from skincare.adapters.json_api import JsonApi
from skincare.adapters.sqs_errors import CallFailed
from skincare.http_client import Answer, NoAnswer

if TYPE_CHECKING:
    from types_boto3_sqs.type_defs import SendMessageBatchRequestEntryTypeDef

_OK = 200
# Codes are written down, so nothing else that an answer may hold passes for one.
_CODE = re.compile(r"[A-Za-z0-9._-]{1,100}")


def send_message_batch(
    api: JsonApi, url: str, entries: Sequence["SendMessageBatchRequestEntryTypeDef"]
) -> dict[str, list[dict[str, Any]]]:
    """Send up to ten entries to the queue of this URL.

    Return `Successful` and `Failed` as the API reference has them: with a text each as `Id`, `Failed` also with
    a text as `Code` and a bool as `SenderFault`. Raises `CallFailed`.
    """
    try:
        answer = api.post("AmazonSQS.SendMessageBatch", {"QueueUrl": url, "Entries": entries})
    except NoAnswer as failed:
        code = failed.code
    else:
        if answer.status != _OK:
            raise CallFailed.by_service(_code_of(answer), answer.status)
        content = _members(answer)
        if content is not None:
            failures = [
                {"Id": entry["Id"], "Code": _code(entry.get("Code")), "SenderFault": entry.get("SenderFault") is True}
                for entry in _entries(content, "Failed")
            ]
            return {"Successful": _entries(content, "Successful"), "Failed": failures}
        code = "ResponseParserError"
    raise CallFailed(code, service_down=True)


def _entries(content: dict[str, Any], name: str) -> list[dict[str, Any]]:
    entries = content.get(name)
    if not isinstance(entries, list):
        return []
    return [entry for entry in entries if isinstance(entry, dict) and isinstance(entry.get("Id"), str)]


def _code_of(answer: Answer) -> str:
    """Return an error's code: the older name in a header, the name in the body, or else the HTTP status."""
    query_error = str(answer.headers.get("x-amzn-query-error", "")).split(";")
    if len(query_error) == 2 and query_error[0]:
        return _code(query_error[0])
    name = (_members(answer) or {}).get("__type", str(answer.status))
    return _code(name.partition(":")[0].rpartition("#")[2] if isinstance(name, str) else None)


def _members(answer: Answer) -> dict[str, Any] | None:
    try:
        content = json.loads(answer.body)
    except (ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) else None


def _code(code: object) -> str:
    return code if isinstance(code, str) and _CODE.fullmatch(code) else "Unknown"
