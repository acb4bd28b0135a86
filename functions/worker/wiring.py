"""The worker of one queue, as the function and the long-running process both use it."""

from skincare.app import App
from skincare.deployment.queues import QueueName
from skincare.jobs.worker import Worker
from worker.registry import REGISTRY


def make_worker(app: App, queue: QueueName) -> Worker[App]:
    """Return the worker of a queue; it prints the metrics of each batch."""
    return Worker(
        app,
        registry=REGISTRY,
        database=app.database,
        queue=app.queues[queue],
        limits=queue.limits,
        release=app.settings.release,
        publish=app.publisher.publish_now,
        measured=lambda metrics: metrics.emit(stage=app.settings.stage, queue=queue),
    )
