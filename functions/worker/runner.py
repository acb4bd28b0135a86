"""The runner of one queue, as the function and the long-running process both use it."""

from skincare.app import App
from skincare.jobs.queues import QueueName
from skincare.jobs.runner import Runner
from worker.registry import REGISTRY


def make_runner(app: App, queue: QueueName) -> Runner[App]:
    """Return the runner of a queue; it prints the metrics of each batch."""
    return Runner(
        app,
        registry=REGISTRY,
        database=app.database,
        queue=app.queues[queue],
        limits=queue.limits,
        release=app.settings.release,
        measured=lambda measures: measures.emit(stage=app.settings.stage, queue=queue),
    )
