"""Queues on Amazon SQS.

Messages are sent without the SDK where that is possible: a customer waits for it. Everything else is done by boto3,
which is imported at its first call. A call is tried once: the outbox and the visibility timeout repeat what
failed, with longer timeouts than a client has.
"""

import math
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Concatenate

from skincare.adapters.aws import AwsSession, Timeouts
from skincare.adapters.message_limits import MAX_ENTRIES, Entry, chunks, refusal_of
from skincare.adapters.sqs_errors import CallFailed
from skincare.adapters.sqs_message import message_from_answer
from skincare.adapters.sqs_sending import send_message_batch
from skincare.jobs.ports import EnqueueFailure, OutgoingMessage, QueueUnavailable, ReceivedMessage
from skincare.observability import logger

if TYPE_CHECKING:
    from types_boto3_sqs import SQSClient
    from types_boto3_sqs.type_defs import SendMessageBatchRequestEntryTypeDef

WHILE_A_CUSTOMER_WAITS = Timeouts(connect=timedelta(seconds=0.3), read=timedelta(seconds=0.7))
"""For the one try right after a COMMIT: the relay owns the guarantee, so an answer is not delayed for it."""

IN_THE_BACKGROUND = Timeouts(connect=timedelta(seconds=1), read=timedelta(seconds=5))

_CALLS_AT_ONCE = 4
_LONGEST_WAIT = timedelta(seconds=20)
_LONGEST_VISIBILITY = timedelta(hours=12)


class SqsQueue:
    """One SQS queue, by its URL. Safe to use from many threads."""

    def __init__(self, url: str, *, aws: AwsSession, timeouts: Timeouts = IN_THE_BACKGROUND) -> None:
        self._url = url
        self._aws = aws
        self._timeouts = timeouts

    def enqueue(self, messages: Sequence[OutgoingMessage]) -> list[EnqueueFailure]:
        """Send in calls of up to ten entries and 1 MiB, a few at once; what SQS could only refuse is not sent.

        When the service is down or throttles, no further call is begun; the entries that are left are reported as
        unavailable like those of the call that failed. The first call goes alone, so an outage usually costs one.
        """
        failures: list[EnqueueFailure] = []
        sendable: list[Entry] = []
        for index, message in enumerate(messages):
            if code := refusal_of(message):
                failures.append(EnqueueFailure(index, code, sender_fault=True))
            else:
                sendable.append((index, message))
        down = threading.Event()
        first, *others = list(chunks(sendable)) or [[]]
        failures += self._send_unless(down, first)
        for each in self._send_at_once(others, down):
            failures += each
        return sorted(failures, key=lambda failure: failure.index)

    def _send_at_once(self, parts: Sequence[Sequence[Entry]], down: threading.Event) -> Iterator[list[EnqueueFailure]]:
        """Send each part in a call, four calls at a time: SQS is some milliseconds away."""
        if len(parts) < 2 or down.is_set():
            yield from (self._send_unless(down, part) for part in parts)
            return
        # Loaded here for the cold start: only the relay has so much to send.
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(_CALLS_AT_ONCE) as senders:
            yield from senders.map(lambda part: self._send_unless(down, part), parts)

    def _send_unless(self, down: threading.Event, part: Sequence[Entry]) -> list[EnqueueFailure]:
        """Send one call's entries, unless an earlier call found the service down; set `down` if this one does."""
        if not part or down.is_set():
            return [_unavailable(index) for index, _ in part]
        try:
            return self._send(part)
        except CallFailed as failed:
            if failed.service_down:
                down.set()
                return [_unavailable(index) for index, _ in part]
            return [EnqueueFailure(index, failed.code, sender_fault=False) for index, _ in part]

    def receive(self, *, limit: int, wait: timedelta, visibility: timedelta | None = None) -> list[ReceivedMessage]:
        """Take messages with all their attributes.

        Raises `QueueUnavailable`, and `ValueError` also for a `wait` that this queue's read timeout would cut short.
        """
        if not 1 <= limit <= MAX_ENTRIES:
            raise ValueError(f"limit {limit} is not within 1 and {MAX_ENTRIES}")
        if not timedelta(0) <= wait <= _LONGEST_WAIT or wait >= self._timeouts.read:
            raise ValueError(f"wait {wait} is not within 0 s, 20 s and the read timeout {self._timeouts.read}")
        options: dict[str, Any] = {} if visibility is None else {"VisibilityTimeout": _visibility_seconds(visibility)}
        try:
            answer = self._call(
                "receive",
                lambda sqs: sqs.receive_message(
                    QueueUrl=self._url,
                    MaxNumberOfMessages=limit,
                    WaitTimeSeconds=int(wait.total_seconds()),
                    MessageSystemAttributeNames=["All"],
                    MessageAttributeNames=["All"],
                    **options,
                ),
            )
        except CallFailed as failed:
            raise QueueUnavailable(f"queue unavailable: receive failed ({failed.code})") from None
        return [message_from_answer(message) for message in answer.get("Messages", [])]

    def ack(self, messages: Sequence[ReceivedMessage]) -> list[ReceivedMessage]:
        """Delete in calls of ten; return those that were refused or whose call failed."""
        return self._change(
            "ack",
            {message.receipt_handle: {} for message in messages},
            messages,
            lambda sqs, entries: sqs.delete_message_batch(QueueUrl=self._url, Entries=entries),
        )

    def nack(self, delays: Sequence[tuple[ReceivedMessage, timedelta]]) -> list[ReceivedMessage]:
        """Change visibilities in calls of ten; return those that were refused or whose call failed."""
        return self._change(
            "nack",
            {message.receipt_handle: {"VisibilityTimeout": _delay_seconds(delay)} for message, delay in delays},
            [message for message, _ in delays],
            lambda sqs, entries: sqs.change_message_visibility_batch(QueueUrl=self._url, Entries=entries),
        )

    def _send(self, chunk: Sequence[Entry]) -> list[EnqueueFailure]:
        entries: list[SendMessageBatchRequestEntryTypeDef] = [
            {
                "Id": str(index),
                "MessageBody": message.body,
                "MessageAttributes": {
                    name: {"DataType": "String", "StringValue": value} for name, value in message.attributes.items()
                },
            }
            for index, message in chunk
        ]
        answer = self._send_batch(entries)
        refused = {entry.get("Id"): entry for entry in answer.get("Failed", [])}
        sent = {entry.get("Id") for entry in answer.get("Successful", [])}
        failures = []
        for index, _ in chunk:
            if entry := refused.get(str(index)):
                code, fault = entry.get("Code", "Unknown"), entry.get("SenderFault", False)
                failures.append(EnqueueFailure(index, code, sender_fault=fault))
            elif str(index) not in sent:
                failures.append(_unavailable(index))
        return failures

    def _send_batch(self, entries: "list[SendMessageBatchRequestEntryTypeDef]") -> Mapping[str, Any]:
        api = self._aws.json_api("sqs", self._url, self._timeouts)
        if api is None:
            return self._call("enqueue", lambda sqs: sqs.send_message_batch(QueueUrl=self._url, Entries=entries))
        try:
            return send_message_batch(api, self._url, entries)
        except CallFailed as failed:
            raise self._logged("enqueue", failed) from None

    def _change(
        self,
        operation: str,
        changes: Mapping[str, dict[str, Any]],
        messages: Sequence[ReceivedMessage],
        call: Callable[["SQSClient", list[Any]], Any],
    ) -> list[ReceivedMessage]:
        """Apply changes by receipt handle; return the messages whose handle was not among the successful ones."""
        handles = list(changes)
        done: set[str] = set()
        for start in range(0, len(handles), MAX_ENTRIES):
            chunk = dict(enumerate(handles[start : start + MAX_ENTRIES]))
            entries = [{"Id": str(n), "ReceiptHandle": handle, **changes[handle]} for n, handle in chunk.items()]
            try:
                answer = self._call(operation, call, entries)
            except CallFailed as failed:
                if failed.service_down:
                    break
                continue
            successful = {entry.get("Id") for entry in answer.get("Successful", [])}
            done |= {handle for n, handle in chunk.items() if str(n) in successful}
            if refused := answer.get("Failed"):
                codes = sorted({entry.get("Code", "Unknown") for entry in refused})
                logger.warning("queue.entries_refused", operation=operation, queue=self._name, codes=codes)
        return [message for message in messages if message.receipt_handle not in done]

    def _call[T, **P](
        self,
        operation: str,
        call: Callable[Concatenate["SQSClient", P], T],
        *args: P.args,
        **options: P.kwargs,
    ) -> T:
        # Loaded here for the cold start; both are parts of boto3.
        from botocore.exceptions import BotoCoreError, ClientError
        from botocore.parsers import ResponseParserError

        try:
            return call(self._aws.client("sqs", self._timeouts), *args, **options)
        except ClientError as error:
            failed = CallFailed.by_service(*_code_and_status(error.response))
        except (BotoCoreError, ResponseParserError) as error:
            failed = CallFailed(type(error).__name__, service_down=True)
        raise self._logged(operation, failed)

    def _logged(self, operation: str, failed: CallFailed) -> CallFailed:
        logger.warning("queue.call_failed", operation=operation, queue=self._name, code=failed.code)
        return failed

    @property
    def _name(self) -> str:
        return self._url.rpartition("/")[2]


def _code_and_status(response: Mapping[str, Any]) -> tuple[str, int]:
    """Return what botocore's ClientError says."""
    status: int = response.get("ResponseMetadata", {}).get("HTTPStatusCode", 500)
    return str(response.get("Error", {}).get("Code", "Unknown")), status


def _unavailable(index: int) -> EnqueueFailure:
    return EnqueueFailure(index, "Unavailable", sender_fault=False)


def _visibility_seconds(visibility: timedelta) -> int:
    if not timedelta(0) <= visibility <= _LONGEST_VISIBILITY:
        raise ValueError(f"visibility {visibility} is not within 0 s and 12 h")
    return math.ceil(visibility.total_seconds())


def _delay_seconds(delay: timedelta) -> int:
    """Whole seconds, so that nobody is too early, within what one call may ask for."""
    return math.ceil(min(max(delay, timedelta(0)), _LONGEST_VISIBILITY).total_seconds())
