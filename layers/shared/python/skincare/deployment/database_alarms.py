"""The alarms of the database, by AWS's own metrics; `alarms` has them among all others."""

from skincare.deployment.alarm_rule import AlarmRule

DATABASE_CPU = AlarmRule(
    name="database-cpu",
    threshold=80,
    counts="%",
    periods=3,
    broke="The database has used {threshold} % of its CPU for {lasting}.",
    impact="Orders become slow, then fail; jobs wait.",
    runbook="database-cpu",
    first="aws rds describe-db-instances --query 'DBInstances[].[DBInstanceIdentifier,DBInstanceStatus]'",
)
DATABASE_STORAGE = AlarmRule(
    name="database-storage",
    threshold=0.1,
    counts="of the first storage",
    below=True,
    broke="The database has less than {percent} % of its first storage left, and growing by itself did not help.",
    impact="When it is full, no order can be placed.",
    runbook="database-storage",
    first="aws rds describe-db-instances --query 'DBInstances[].[AllocatedStorage,MaxAllocatedStorage]'",
)
DATABASE_CONNECTIONS = AlarmRule(
    name="database-connections",
    threshold=0.8,
    counts="of all connections",
    periods=2,
    of=3,
    broke="The database has {percent} % of its {whole} connections open.",
    impact="Orders become slow, then fail; jobs wait.",
    runbook="database-connections",
    first="aws lambda list-functions --query 'Functions[].FunctionName'",
)
DATABASE_PINNED = AlarmRule(
    name="database-pinned",
    threshold=0.05,
    at_least=5,
    counts="of all connections",
    periods=3,
    broke="Sessions are pinned: RDS Proxy cannot share their connections.",
    impact="Nobody yet; under load connections run out and orders fail.",
    runbook="database-pinned",
    first="aws rds describe-db-proxies --query 'DBProxies[].[DBProxyName,Status]'",
)

DATABASE_RULES = (DATABASE_CPU, DATABASE_STORAGE, DATABASE_CONNECTIONS, DATABASE_PINNED)
