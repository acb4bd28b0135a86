"""What a batch did, as metrics."""

from collections import defaultdict
from dataclasses import dataclass, field
from datetime import timedelta

from skincare.deployment.metrics import Metric
from skincare.deployment.queues import QueueName
from skincare.jobs.retry import Completed, DeadLetter, Retry
from skincare.jobs.worker.attempt import Attempt
from skincare.metrics import emit


@dataclass
class BatchMetrics:
    """Collects what happened in one batch."""

    failed_messages: int = 0
    _by_type: defaultdict[str, defaultdict[Metric, list[float]]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(list))
    )

    def ran(self, attempt: Attempt) -> None:
        """An attempt was made."""
        claim = attempt.claim
        values = self._by_type[claim.job_type]
        match attempt.outcome:
            case Completed():
                values[Metric.JOBS_COMPLETED].append(1)
            case Retry():
                values[Metric.JOBS_RETRIED].append(1)
            case DeadLetter():
                values[Metric.JOBS_DEAD].append(1)
        values[Metric.JOB_DURATION].append(attempt.duration / timedelta(milliseconds=1))
        if claim.attempts == 1:
            values[Metric.QUEUE_DELAY].append(claim.age.total_seconds())

    def died(self, job_type: str) -> None:
        """A job was dead-lettered without an attempt."""
        self._by_type[job_type][Metric.JOBS_DEAD].append(1)

    def emit(self, *, stage: str, queue: QueueName) -> None:
        """Print what was collected."""
        for job_type, values in self._by_type.items():
            emit(values, Stage=stage, JobType=job_type)
        emit({Metric.ITEMS_FAILED: [self.failed_messages]}, Stage=stage, Queue=queue)
