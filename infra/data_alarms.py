"""The alarms of what keeps data: queues and database."""

from infra.alarm import FIVE_MINUTES, MINUTE, Alarms
from infra.database import Database
from infra.job_queue import JobQueue
from infra.stage import Stage
from skincare.deployment.alarms import DEAD_LETTERS, QUEUE_AGE


def add_queue_alarms(alarms: Alarms, queue: JobQueue) -> None:
    """Add those for dead letters and for messages that wait too long."""
    alarms.add(
        f"{DEAD_LETTERS.name}-{queue.name}",
        # The relay hides dead letters while it looks through them, so a single minute may show none.
        metric=queue.dead_letters.metric_approximate_number_of_messages_visible(
            statistic="Maximum", period=FIVE_MINUTES
        ),
        threshold=DEAD_LETTERS.threshold,
        broke=f"Jobs of the queue {queue.name} were given up and lie on its dead-letter queue.",
        hurts=queue.name.limits.hurts,
        runbook=DEAD_LETTERS.runbook,
        first="skincare dlq list --stage {stage}",
    )
    alarms.add(
        f"{QUEUE_AGE.name}-{queue.name}",
        metric=queue.source.metric_approximate_age_of_oldest_message(statistic="Maximum", period=MINUTE),
        threshold=QUEUE_AGE.threshold,
        periods=3,
        of=5,
        broke=f"A message on the queue {queue.name} is older than {QUEUE_AGE.threshold // 60:.0f} minutes.",
        hurts=queue.name.limits.hurts,
        runbook=QUEUE_AGE.runbook,
        first=f"skincare jobs list --queue {queue.name} --stage {{stage}}",
    )


def add_database_alarms(alarms: Alarms, database: Database, *, stage: Stage) -> None:
    """Add those for a database that runs out of something."""
    hurts = "Orders become slow, then fail; jobs wait."
    size = stage.database
    alarms.add(
        "database-cpu",
        metric=database.metric("CPUUtilization", "Average"),
        threshold=80,
        periods=3,
        broke="The database has used 80 % of its CPU for a quarter of an hour.",
        hurts=hurts,
        runbook="database-cpu",
        first="aws rds describe-db-instances --query 'DBInstances[].[DBInstanceIdentifier,DBInstanceStatus]'",
    )
    alarms.add(
        "database-storage",
        metric=database.metric("FreeStorageSpace", "Minimum"),
        threshold=0.1 * size.storage_gib * 1024**3,
        when_below=True,
        broke="The database has less than a tenth of its first storage left, and growing by itself did not help.",
        hurts="When it is full, no order can be placed.",
        runbook="database-storage",
        first="aws rds describe-db-instances --query 'DBInstances[].[AllocatedStorage,MaxAllocatedStorage]'",
    )
    alarms.add(
        "database-connections",
        metric=database.metric("DatabaseConnections", "Maximum"),
        threshold=int(0.8 * size.max_connections),
        periods=2,
        of=3,
        broke=f"The database has 80 % of its {size.max_connections} connections open.",
        hurts=hurts,
        runbook="database-connections",
        first="aws lambda list-functions --query 'Functions[].FunctionName'",
    )
    pinned = database.proxy_metric("DatabaseConnectionsCurrentlySessionPinned", "Maximum")
    if pinned is not None:
        alarms.add(
            "database-pinned",
            metric=pinned,
            threshold=max(5, size.max_connections // 20),
            periods=3,
            broke="Sessions are pinned: RDS Proxy cannot share their connections.",
            hurts="Nobody yet; under load connections run out and orders fail.",
            runbook="database-pinned",
            first="aws rds describe-db-proxies --query 'DBProxies[].[DBProxyName,Status]'",
        )
