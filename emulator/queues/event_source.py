"""The event source mapping of one queue: what Lambda does between SQS and a function.

AWS: "Using Lambda with Amazon SQS" and "Handling errors for an SQS event source in Lambda".
"""

import contextlib
import json
import math
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import TYPE_CHECKING

from botocore.exceptions import BotoCoreError, ClientError

from emulator.functions.function import Function, FunctionStopped, InvocationFailed
from emulator.log.logbook import LogBook
from emulator.processes.threads import start_loop
from emulator.queues.sqs_event import failed_identifiers, record

if TYPE_CHECKING:
    from types_boto3_sqs import SQSClient
    from types_boto3_sqs.type_defs import MessageTypeDef

_LONGEST_POLL_S = 20
_LARGEST_RECEIVE = 10
_PAUSE_AFTER_ERROR_S = 0.5
_TIMEOUT = timedelta(seconds=60)


class EventSource:
    """Polls a queue, hands batches to a function, deletes what it handled.

    At most `concurrency` batches are at work at once, and nothing is received before one may start.
    """

    def __init__(
        self,
        sqs: "SQSClient",
        function: Function,
        *,
        queue_url: str,
        queue_arn: str,
        function_timeout: timedelta,
        batch_size: int,
        batch_window: timedelta,
        concurrency: int,
        log: LogBook,
        longest_poll_s: int = _LONGEST_POLL_S,
    ) -> None:
        self._sqs = sqs
        self._function = function
        self._queue_url = queue_url
        self._queue_arn = queue_arn
        self._least_visibility = 6 * function_timeout + batch_window
        self._batch_size = batch_size
        self._batch_window = batch_window
        self._log = log
        self._longest_poll_s = longest_poll_s
        self._free = threading.Semaphore(concurrency)
        self._batches = ThreadPoolExecutor(max_workers=concurrency, thread_name_prefix="batch")
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self.polling = threading.Event()
        """Set while the queue answers."""

    @property
    def source(self) -> str:
        return self._queue_arn.rpartition(":")[2]

    def start(self) -> None:
        """Begin to poll.

        Raises ValueError where the queue hides messages for less than six function timeouts and the window,
        which AWS advises against, and refuses below one.
        """
        answer = self._sqs.get_queue_attributes(QueueUrl=self._queue_url, AttributeNames=["VisibilityTimeout"])
        visibility = timedelta(seconds=int(answer["Attributes"]["VisibilityTimeout"]))
        if visibility < self._least_visibility:
            raise ValueError(f"{self.source}: a visibility of {visibility} is below six function timeouts")
        self.polling.set()
        self._thread = start_loop(f"poll-{self.source}", self._poll, stopping=self._stopping, log=self._log)

    def stop(self) -> None:
        """Receive no more. Batches at work end by themselves or with their container."""
        self._stopping.set()
        self.polling.clear()
        self._batches.shutdown(wait=False)

    def wait_for_batches(self) -> None:
        """Return when the last batch is answered and what it handled is deleted."""
        self._batches.shutdown(wait=True)

    def _poll(self) -> None:
        """Receive a batch and have it handled, once there is room for one."""
        self._free.acquire()
        with contextlib.ExitStack() as otherwise:
            otherwise.callback(self._free.release)
            messages = self._receive_batch()
            if not messages:
                return
            try:
                self._batches.submit(self._handle, messages)
            except RuntimeError:  # stopped meanwhile: somebody else may have them
                self._release(messages)
                return
            otherwise.pop_all()  # given back by whoever handles them

    def _receive_batch(self) -> "list[MessageTypeDef]":
        try:
            messages = self._gather()
        except (BotoCoreError, ClientError, OSError) as error:
            if self.polling.is_set():
                self._log.event(self.source, "queue.unreachable", level="WARNING", error=type(error).__name__)
            self.polling.clear()
            self._stopping.wait(_PAUSE_AFTER_ERROR_S)
            return []
        if not self._stopping.is_set():
            self.polling.set()
        return messages

    def _gather(self) -> "list[MessageTypeDef]":
        """Return up to a batch; once there is a first message, wait for more as long as the window lasts."""
        messages = self._receive(self._batch_size, self._longest_poll_s)
        deadline = time.monotonic() + self._batch_window.total_seconds()
        while messages and len(messages) < self._batch_size:
            left = deadline - time.monotonic()
            if left <= 0:
                break
            messages += self._receive(self._batch_size - len(messages), min(math.ceil(left), self._longest_poll_s))
        return messages

    def _receive(self, limit: int, wait_s: int) -> "list[MessageTypeDef]":
        answer = self._sqs.receive_message(
            QueueUrl=self._queue_url,
            MaxNumberOfMessages=min(limit, _LARGEST_RECEIVE),
            WaitTimeSeconds=wait_s,
            MessageSystemAttributeNames=["All"],
            MessageAttributeNames=["All"],
        )
        return answer.get("Messages", [])

    def _handle(self, messages: "list[MessageTypeDef]") -> None:
        try:
            self._delete(self._handled(messages))
        except (BotoCoreError, ClientError, OSError) as error:
            self._log.event(self.source, "delete.failed", level="WARNING", error=type(error).__name__)
        except Exception as error:  # noqa: BLE001  the batch comes again, and this thread has nobody to tell
            self._log.event(self.source, "batch.failed", level="ERROR", error=type(error).__name__)
        finally:
            self._free.release()

    def _handled(self, messages: "list[MessageTypeDef]") -> "list[MessageTypeDef]":
        """Let the function handle a batch and return the messages it did not report as failed."""
        event = {"Records": [record(message, self._queue_arn) for message in messages]}
        try:
            answer = self._function.invoke(json.dumps(event).encode(), timeout=_TIMEOUT)
        except FunctionStopped:
            self._release(messages)
            return []
        except InvocationFailed as error:
            self._log.event(self.source, "batch.failed", level="ERROR", error=error.error_type, messages=len(messages))
            return []
        by_id = {message["MessageId"]: message for message in messages}
        failed = failed_identifiers(answer)
        if failed is None or not failed <= by_id.keys():
            self._log.event(self.source, "answer.malformed", level="ERROR", messages=len(messages))
            return []
        return [message for identifier, message in by_id.items() if identifier not in failed]

    def _delete(self, messages: "list[MessageTypeDef]") -> None:
        for start in range(0, len(messages), _LARGEST_RECEIVE):
            answer = self._sqs.delete_message_batch(
                QueueUrl=self._queue_url,
                Entries=[
                    {"Id": str(index), "ReceiptHandle": message["ReceiptHandle"]}
                    for index, message in enumerate(messages[start : start + _LARGEST_RECEIVE])
                ],
            )
            for refused in answer.get("Failed", []):
                self._log.event(self.source, "delete.refused", level="WARNING", code=refused["Code"])

    def _release(self, messages: "list[MessageTypeDef]") -> None:
        for message in messages:
            with contextlib.suppress(BotoCoreError, ClientError, OSError):
                self._sqs.change_message_visibility(
                    QueueUrl=self._queue_url, ReceiptHandle=message["ReceiptHandle"], VisibilityTimeout=0
                )
