"""The outbox relay: once a minute, puts on SQS whatever is due, and then removes what has had its time."""

from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from skincare.bootstrap import get_app
from skincare.customers.gauges import customer_gauges
from skincare.deployment.functions import OUTBOX_RELAY
from skincare.deployment.metrics import Metric
from skincare.jobs.catalog import BUDGETS, PERIODIC_JOBS
from skincare.jobs.gauges import job_gauges, queue_gauges
from skincare.jobs.relay import run_relay
from skincare.jobs.retry import leaving
from skincare.metrics import emit
from skincare.observability import logger, start_invocation, time_left
from skincare.payments.gauges import payment_gauges
from skincare.retention.service import SHARE, prune


def lambda_handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:  # noqa: ARG001  a schedule says nothing
    """Say how everything stands, publish what is due, sweep the dead-letter queues and prune; answers the counts."""
    start_invocation(aws_request_id=context.aws_request_id)
    app = get_app(OUTBOX_RELAY)
    gauges = {**job_gauges(app.database), **payment_gauges(app.database), **customer_gauges(app.database)}
    emit({metric: [value] for metric, value in gauges.items()}, Stage=app.settings.stage)
    for queue, of_queue in queue_gauges(app.database).items():
        emit({metric: [value] for metric, value in of_queue.items()}, Stage=app.settings.stage, Queue=queue)
    if unknown := gauges[Metric.JOBS_OF_UNKNOWN_QUEUES]:
        logger.error("relay.unknown_queues", jobs=int(unknown))
    report = run_relay(
        database=app.database,
        queues=app.queues,
        publisher=app.publisher,
        budgets=BUDGETS,
        time_left=leaving(SHARE, time_left(context)),
        periodic_jobs=PERIODIC_JOBS,
    )
    # Last: nothing waits for it, and dying in it costs nothing. Its share of the time is its own.
    if pruned := prune(app.database, time_left=time_left(context)):
        emit({Metric.RETENTION_LAG: [pruned.lag_s]}, Stage=app.settings.stage)
        for what, rows in pruned.removed.items():
            if rows:
                emit({Metric.ROWS_REMOVED: [rows]}, Stage=app.settings.stage, Table=what)
    return {
        "sent": report.sent,
        "refused": report.refused,
        "unavailable": report.unavailable,
        "swept": report.swept,
        "removed": sum(pruned.removed.values()) if pruned else 0,
    }
