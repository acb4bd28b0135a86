"""The worker of one queue: decode, claim, run, settle, and say which messages shall come again.

A worker of our own and not a per-record processor, because a batch is claimed in one statement and
settled in one statement, and because a job that kills its process must not take its neighbours along.
It is generic over the App that it hands to the handlers.
"""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from skincare.database.connection import Database
from skincare.deployment.queues import QueueLimits
from skincare.jobs.ports import QueuePair, ReceivedMessage
from skincare.jobs.registry import Registry
from skincare.jobs.retry import TimeLeft
from skincare.jobs.worker.batch import Batch, BatchResult, Unprocessable
from skincare.jobs.worker.batch_attempt import Publish
from skincare.jobs.worker.batch_metrics import BatchMetrics
from skincare.jobs.worker.consumer import consume
from skincare.jobs.worker.delivery import delete_done, leave_process, set_visibility
from skincare.jobs.worker.invocation import Invocation
from skincare.jobs.worker.lease_session import RESERVE, LeaseSession
from skincare.jobs.worker.unprocessable import UnprocessableMessages


class Worker[A]:
    """The worker of one queue; lives as long as its process. `measured` gets the metrics of each batch.

    `publish` gets the jobs that batch handlers set off, after COMMIT. `leave` ends the process at once.
    """

    def __init__(
        self,
        app: A,
        *,
        registry: Registry[A],
        database: Database,
        queue: QueuePair,
        limits: QueueLimits,
        publish: Publish,
        release: str | None = None,
        measured: Callable[[BatchMetrics], None] = lambda _: None,
        leave: Callable[[], None] = leave_process,
    ) -> None:
        self._app = app
        self._registry = registry
        self._database = database
        self._source = queue.source
        self._limits = limits
        self._release = release
        self._publish = publish
        self._unprocessable = UnprocessableMessages(database, queue.dead_letters)
        self._measured = measured
        self._leave = leave
        self._threads = ThreadPoolExecutor(limits.threads, thread_name_prefix="handler")

    def consume(self, stop: threading.Event) -> None:
        """Work until `stop` is set, and then until everything that ran is finished or released.

        When a handler hung, the process ends, for its thread would go on.
        """
        if not consume(self._source, self.run, limits=self._limits, stop=stop):
            self._leave()

    def answer(self, messages: Sequence[ReceivedMessage], *, time_left: TimeLeft) -> list[str]:
        """Work through a batch, set when messages come again, and return their ids."""
        return self.deliver(self.run(messages, time_left=time_left))

    def deliver(self, result: BatchResult) -> list[str]:
        """Set when messages come again, and return their ids.

        When a handler hung, its thread would go on in the next invocation, so the process ends here and
        deletes what is done itself: an invocation that ends without an answer reports every message as failed.
        """
        set_visibility(result, self._source)
        if result.hung:
            delete_done(result, self._source)
            self._leave()
        return list(dict.fromkeys(message.message_id for message, _ in result.released))

    def run(self, messages: Sequence[ReceivedMessage], *, time_left: TimeLeft) -> BatchResult:
        """Work through a batch; raises nothing because of a message, a handler, the database or the queue."""
        batch = Batch.decode(messages, known={entry.payload_class.job_type for entry in self._registry})
        invocation = Invocation(self._app, self._registry, self._limits, self._threads, self._publish)
        session = LeaseSession(self._database, time_left, release=self._release)
        invocation.work_through(batch, session)
        result = BatchResult(hung=invocation.hung)
        for message, fate in batch.fates(invocation.fates):
            if isinstance(fate, Unprocessable):
                # Here, at the end, for dead-lettering takes its time and nobody waits for these.
                has_time = not result.hung and time_left() > RESERVE
                fate = self._unprocessable.handle(message, fate, has_time=has_time)  # noqa: PLW2901
            result.add(message, fate)
        invocation.metrics.failed_messages = result.failed
        self._measured(invocation.metrics)
        return result
