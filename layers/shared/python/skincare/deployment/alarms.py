"""Every alarm. `infra` makes alarms of these rules, and the local page shows those that one machine can judge."""

from datetime import timedelta

from skincare.deployment import log_events
from skincare.deployment.alarm_rule import COUNTING, MINUTE, AlarmRule
from skincare.deployment.database_alarms import DATABASE_RULES
from skincare.deployment.metrics import Metric

DEAD_JOBS = AlarmRule(
    name="dead-jobs",
    metric=Metric.UNACKNOWLEDGED_DEAD_JOBS,
    threshold=1,
    counts="jobs",
    per_queue=True,
    broke="Jobs of the queue {queue} were given up, and nobody has acknowledged it.",
    impact="{impact}",
    runbook="dead-letters",
    first="skincare dlq list --stage {stage}",
)
DEAD_LETTERS = AlarmRule(
    name="dead-letters",
    # Messages beyond the acknowledged jobs of the ledger, or all of them while the relay tells of none.
    threshold=1,
    counts="messages",
    # The relay hides dead letters while it looks through them, so a single minute may show none.
    period=COUNTING,
    # Late on purpose: the relay has many runs to clear what is outdated, and `dead-jobs` has told of the rest.
    periods=12,
    per_queue=True,
    broke="For {lasting} messages have lain on the dead-letter queue of {queue} that no acknowledged job explains.",
    impact="{impact}",
    runbook="dead-letters",
    first="skincare dlq list --stage {stage}",
)
QUEUE_AGE = AlarmRule(
    name="queue-age",
    # A message waits through several backoffs before this; above it people wait for mails and payments.
    threshold=15 * 60,
    counts="s",
    period=MINUTE,
    periods=3,
    of=5,
    per_queue=True,
    broke="A message on the queue {queue} is older than {minutes} minutes.",
    impact="{impact}",
    runbook="queue-age",
    first="skincare jobs list --queue {queue} --stage {stage}",
)
ITEMS_FAILED = AlarmRule(
    name="items-failed",
    metric=Metric.ITEMS_FAILED,
    threshold=20,
    adds_up=True,
    periods=3,
    per_queue=True,
    broke="Jobs of the queue {queue} fail, {threshold} or more in {every}, again and again.",
    impact="They are tried again until their budget is spent; customers wait.",
    runbook="items-failed",
    first="skincare jobs list --queue {queue} --state retry_waiting --stage {stage}",
)
OUTBOX_LATE = AlarmRule(
    name="outbox-late",
    metric=Metric.OUTBOX_LATENESS,
    threshold=5 * 60,
    counts="s",
    periods=2,
    of=3,
    # The relay writes it each minute: silence means that it does not run.
    silence_is_bad=True,
    broke="A job waits for its queue for more than {minutes} minutes, or the relay does not run.",
    impact="Mails, payments and invoices are late.",
    runbook="outbox-late",
    first="skincare outbox --stage {stage}",
)
JOBS_OF_UNKNOWN_QUEUES = AlarmRule(
    name="unknown-queues",
    metric=Metric.JOBS_OF_UNKNOWN_QUEUES,
    threshold=1,
    counts="jobs",
    # During a deploy the older relay may meet what the newer API enqueued.
    periods=3,
    broke="Jobs are due for a queue that the running release does not know, as after a rollback.",
    impact="Their work waits until a release that knows the queue is back.",
    runbook="unknown-queues",
    first="skincare outbox --stage {stage}",
)
FORGOTTEN_PAUSES = AlarmRule(
    name="pause-forgotten",
    metric=Metric.FORGOTTEN_PAUSES,
    threshold=1,
    counts="pauses",
    broke="Jobs have been paused for a day, and the pause has no end.",
    impact="What is paused does not happen: mails, invoices, payments or expiries.",
    runbook="pause-forgotten",
    first="skincare jobs paused --stage {stage}",
)
RELAY_FAILURES = AlarmRule(
    name="relay-failures",
    threshold=1,
    counts="messages",
    broke="A run of the outbox relay failed.",
    impact="One failure hurts nobody; several make mails, payments and invoices late.",
    runbook="relay-failures",
    first="aws logs tail /aws/lambda/skincare-{stage}-outbox-relay --since 30m --filter-pattern ERROR",
)
RETENTION_BEHIND = AlarmRule(
    name="retention-behind",
    metric=Metric.RETENTION_LAG,
    threshold=2 * 24 * 3600,
    counts="s",
    period=timedelta(hours=1),
    periods=3,
    # Written each minute: silence means that nothing is removed.
    silence_is_bad=True,
    broke="Rows that have had their time are not removed: the oldest for two days, or nothing is removed at all.",
    impact="Nobody yet; the database grows, and what should be forgotten is not.",
    runbook="retention-behind",
    first="skincare retention --stage {stage}",
)
CUSTOMER_REQUESTS_OVERDUE = AlarmRule(
    name="customer-requests-overdue",
    metric=Metric.OVERDUE_CUSTOMER_REQUESTS,
    threshold=1,
    counts="requests",
    broke="A customer asked for their data two days ago, or to be forgotten 25 days ago, and it is not done.",
    impact="A customer has a right to it within three days, or within a month.",
    runbook="customer-requests-overdue",
    first="skincare customer requests --stage {stage}",
)
MESSAGES_QUARANTINED = AlarmRule(
    name="messages-quarantined",
    metric=Metric.QUARANTINED_MESSAGES,
    threshold=1,
    counts="messages",
    broke="A message on a dead-letter queue belongs to no job of ours; it is kept in the quarantine.",
    impact="Perhaps nobody; perhaps work of a customer that somebody sent to the wrong queue.",
    runbook="messages-quarantined",
    first="skincare dlq list --stage {stage}",
)
EMAIL_SENDING_STOPPED = AlarmRule(
    name="email-sending-stopped",
    # A rate limit that passes is a warning in the log only.
    metric=log_events.MAIL_STOPPED,
    threshold=1,
    broke="SES refuses every mail of ours ({event}): the account is paused or set up wrongly.",
    impact="No customer gets a mail; the jobs wait, and some are tried each minute.",
    runbook="email-sending-stopped",
    first="aws sesv2 get-account",
)
MAIL_SET_UP = AlarmRule(
    name="mail-set-up",
    metric=log_events.BOUNCE_OF_OURS,
    # A single mail is refused by the policy of one mailbox, or by a mistyped domain; several because of us.
    threshold=3,
    period=timedelta(hours=1),
    broke="Mails came back because of us or of their way, not of their addresses: {threshold} or more in {every}.",
    impact="Customers get no mails, at one provider or everywhere.",
    runbook="mail-set-up",
    first='aws logs tail /aws/lambda/skincare-{stage}-mail-events --since 2h --filter-pattern "{event}"',
)
MAIL_EVENT_FAILURES = AlarmRule(
    name="mail-event-failures",
    threshold=1,
    counts="messages",
    broke="A bounce or complaint was not written down after three tries.",
    impact="Mails go on to addresses that bounce, until SES stops us.",
    runbook="mail-event-failures",
    first="aws logs tail /aws/lambda/skincare-{stage}-mail-events --since 1h --filter-pattern ERROR",
)
GATEWAY_MISCONFIGURED = AlarmRule(
    name="gateway-misconfigured",
    metric=log_events.GATEWAY_MISCONFIGURED,
    threshold=1,
    broke="A payment gateway refuses our key, or its address is wrong ({event}).",
    impact="Customers cannot pay; refunds, expiries and unconfirmed payments wait until it is fixed.",
    runbook="gateway-misconfigured",
    first="skincare jobs list --queue payments --state retry_waiting --stage {stage}",
)
WEBHOOKS_REFUSED = AlarmRule(
    name="webhooks-refused",
    metric=log_events.WEBHOOK_REFUSED,
    # A scanner of the internet tries once or twice; a gateway repeats each webhook that is refused.
    threshold=5,
    broke="Webhooks are refused for their signatures, {threshold} or more in {every}.",
    impact="Nobody where somebody forges them; where a gateway's secret changed, payments are not seen.",
    runbook="webhooks-refused",
    first="""aws logs tail /aws/lambda/skincare-{stage}-api --since 15m --filter-pattern '"{event}"'""",
)
PAYMENT_EVENTS_UNAPPLIED = AlarmRule(
    name="payment-events-unapplied",
    metric=Metric.UNAPPLIED_PAYMENT_EVENTS,
    threshold=1,
    counts="events",
    periods=3,
    broke="Payment events were taken in and are not applied to their orders yet.",
    impact="Customers have paid and their orders do not say so.",
    runbook="payment-events-unapplied",
    first="skincare payments list --stage {stage}",
)
PAYMENT_EVENTS_QUARANTINED = AlarmRule(
    name="payment-events-quarantined",
    metric=Metric.QUARANTINED_PAYMENT_EVENTS,
    threshold=1,
    counts="events",
    broke="A signed payment event cannot be read or names no order of ours; it is set aside.",
    impact="Perhaps a customer whose payment we do not recognise.",
    runbook="payment-events-quarantined",
    first="skincare payments list --stage {stage}",
)
PAYMENT_ANOMALIES = AlarmRule(
    name="payment-anomalies",
    metric=Metric.OPEN_PAYMENT_ANOMALIES,
    threshold=1,
    counts="anomalies",
    broke="Money came that does not fit its order: a wrong amount, twice, or for a cancelled order.",
    impact="A customer is owed a refund or an answer.",
    runbook="payment-anomalies",
    first="skincare payments list --stage {stage}",
)
RECONCILIATION_FINDINGS = AlarmRule(
    name="reconciliation-findings",
    metric=Metric.OPEN_FINDINGS,
    threshold=1,
    counts="findings",
    broke="The reconciliation found orders, payments or mails that do not agree with each other.",
    impact="Perhaps a customer has paid and was not notified, or money lies here that nobody accounts for.",
    runbook="reconciliation-findings",
    first="skincare payments list --stage {stage}",
)
API_ERRORS = AlarmRule(
    name="api-errors",
    threshold=5,
    period=MINUTE,
    periods=2,
    of=5,
    broke="The API answers with 5xx.",
    impact="Customers cannot order.",
    runbook="api-errors",
    first="aws logs tail /aws/lambda/skincare-{stage}-api --since 15m --filter-pattern ERROR",
)
API_SLOW = AlarmRule(
    name="api-slow",
    # What ninety-nine answers of a hundred take at most.
    threshold=2000,
    counts="ms",
    periods=3,
    broke="One answer in a hundred takes longer than {seconds} seconds.",
    impact="Customers wait, and some leave.",
    runbook="api-slow",
    first="aws logs tail /skincare/{stage}/http --since 15m",
)
FUNCTION_ERRORS = AlarmRule(
    name="function-errors",
    threshold=1,
    periods=2,
    of=3,
    per_function=True,
    broke="The function {function} crashes, runs out of time or memory, or cannot start.",
    impact="{impact}",
    runbook="function-errors",
    first="aws logs tail /aws/lambda/{function} --since 30m --filter-pattern ERROR",
)
FUNCTION_THROTTLES = AlarmRule(
    name="function-throttles",
    threshold=10,
    periods=2,
    of=3,
    per_function=True,
    broke="Lambda starts no more containers of {function}: its own or the account's concurrency is used up.",
    impact="{impact}",
    runbook="function-throttles",
    first="aws lambda get-function-concurrency --function-name {function}",
)
FUNCTION_SLOW = AlarmRule(
    name="function-slow",
    threshold=0.8,
    counts="of the timeout",
    periods=3,
    per_function=True,
    broke="Calls of {function} come near their timeout.",
    impact="{impact}",
    runbook="function-slow",
    first="aws logs tail /aws/lambda/{function} --since 30m --filter-pattern ERROR",
)
ALARM_RULES: tuple[AlarmRule, ...] = (
    *(value for value in list(globals().values()) if isinstance(value, AlarmRule)),
    *DATABASE_RULES,
)
"""All of them, in the order above: a rule is added by writing it down."""
