"""The alarms of what keeps data: queues and database."""

from aws_cdk import aws_cloudwatch as cw

from infra.alarm import Alarms, duration
from infra.database import Database
from infra.job_queue import JobQueue
from infra.metrics import shop_metric
from infra.stage import Stage
from skincare.deployment import alarms as rules
from skincare.deployment import database_alarms
from skincare.deployment.metrics import Metric


def add_queue_alarms(alarms: Alarms, queue: JobQueue, *, stage: Stage) -> None:
    """Add those for dead letters and for messages that wait too long."""
    impact = queue.name.limits.impact
    period = rules.DEAD_LETTERS.period
    dead = cw.MathExpression(
        # Silence of the relay explains no message.
        expression="letters - FILL(acknowledged, 0)",
        using_metrics={
            "letters": queue.dead_letters.metric_approximate_number_of_messages_visible(
                statistic="Maximum", period=duration(rules.DEAD_LETTERS)
            ),
            "acknowledged": shop_metric(
                stage, Metric.ACKNOWLEDGED_DEAD_JOBS, statistic="Maximum", period=period, Queue=queue.name.value
            ),
        },
        period=duration(rules.DEAD_LETTERS),
    )
    alarms.add(rules.DEAD_LETTERS, dead, of=queue.name, queue=queue.name, impact=impact)
    age = queue.source.metric_approximate_age_of_oldest_message(statistic="Maximum", period=duration(rules.QUEUE_AGE))
    alarms.add(rules.QUEUE_AGE, age, of=queue.name, queue=queue.name, impact=impact)


def add_database_alarms(alarms: Alarms, database: Database, *, stage: Stage) -> None:
    """Add those for a database that runs out of something."""
    size = stage.database
    alarms.add(database_alarms.DATABASE_CPU, database.metric("CPUUtilization", "Average"))
    free = database.metric("FreeStorageSpace", "Minimum")
    alarms.add(database_alarms.DATABASE_STORAGE, free, whole=size.storage_gib * 1024**3)
    open_ones = database.metric("DatabaseConnections", "Maximum")
    alarms.add(database_alarms.DATABASE_CONNECTIONS, open_ones, whole=size.max_connections)
    pinned = database.proxy_metric("DatabaseConnectionsCurrentlySessionPinned", "Maximum")
    if pinned is not None:
        alarms.add(database_alarms.DATABASE_PINNED, pinned, whole=size.max_connections)
