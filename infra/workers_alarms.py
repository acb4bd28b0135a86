"""The alarms that the jobs and the payments themselves raise."""

from aws_cdk import aws_sqs as sqs

from infra.alarm import FIVE_MINUTES, Alarms
from infra.function import ShopFunction
from infra.metrics import LogMetric, count_in_log, shop_metric
from infra.stage import Stage
from skincare.deployment import alarms as rules
from skincare.deployment.metrics import Metric
from skincare.deployment.queues import QueueName


def add_job_alarms(alarms: Alarms, *, stage: Stage, relay_failures: sqs.IQueue) -> None:
    """Add those for an outbox that is late, a relay that fails, jobs that fail, and messages that are no jobs."""
    late_minutes = rules.OUTBOX_LATE.threshold / 60
    alarms.add(
        rules.OUTBOX_LATE.name,
        metric=shop_metric(stage, Metric.OUTBOX_LATENESS, statistic="Maximum"),
        threshold=rules.OUTBOX_LATE.threshold,
        periods=2,
        of=3,
        # The relay writes it each minute: silence means that it does not run.
        silence_is_bad=True,
        broke=f"A job waits for its queue for more than {late_minutes:.0f} minutes, or the relay does not run.",
        hurts="Mails, payments and invoices are late.",
        runbook=rules.OUTBOX_LATE.runbook,
        first="skincare outbox --stage {stage}",
    )
    alarms.add(
        rules.JOBS_OF_UNKNOWN_QUEUES.name,
        metric=shop_metric(stage, Metric.JOBS_OF_UNKNOWN_QUEUES, statistic="Maximum"),
        threshold=rules.JOBS_OF_UNKNOWN_QUEUES.threshold,
        # During a deploy the older relay may meet what the newer API enqueued.
        periods=3,
        broke="Jobs are due for a queue that the running release does not know, as after a rollback.",
        hurts="Their work waits until a release that knows the queue is back.",
        runbook=rules.JOBS_OF_UNKNOWN_QUEUES.runbook,
        first="skincare outbox --stage {stage}",
    )
    alarms.add(
        "relay-failures",
        metric=relay_failures.metric_approximate_number_of_messages_visible(statistic="Maximum", period=FIVE_MINUTES),
        threshold=1,
        broke="A run of the outbox relay failed.",
        hurts="One failure hurts nobody; several make mails, payments and invoices late.",
        runbook="relay-failures",
        first="aws logs tail /aws/lambda/skincare-{stage}-outbox-relay --since 30m --filter-pattern ERROR",
    )
    many = rules.ITEMS_FAILED.threshold
    for queue in QueueName:
        alarms.add(
            f"{rules.ITEMS_FAILED.name}-{queue}",
            metric=shop_metric(stage, Metric.ITEMS_FAILED, statistic="Sum", Queue=queue.value),
            threshold=many,
            periods=3,
            broke=f"Jobs of the queue {queue} fail, {many:g} or more in five minutes, again and again.",
            hurts="They are tried again until their budget is spent; customers wait.",
            runbook=rules.ITEMS_FAILED.runbook,
            first=f"skincare jobs list --queue {queue} --state retry_waiting --stage {{stage}}",
        )
    alarms.add(
        rules.MESSAGES_QUARANTINED.name,
        metric=shop_metric(stage, Metric.QUARANTINED_MESSAGES, statistic="Maximum"),
        threshold=rules.MESSAGES_QUARANTINED.threshold,
        broke="A message on a dead-letter queue belongs to no job of ours; it is kept in the quarantine.",
        hurts="Perhaps nobody; perhaps work of a customer that somebody sent to the wrong queue.",
        runbook=rules.MESSAGES_QUARANTINED.runbook,
        first="skincare dlq list --stage {stage}",
    )


def add_mail_alarm(alarms: Alarms, *, stage: Stage, worker: ShopFunction) -> None:
    """Add the one for mail that is stopped as a whole. A rate limit that passes is a warning in the log only."""
    alarms.add(
        rules.EMAIL_SENDING_STOPPED.name,
        metric=count_in_log(
            worker, LogMetric.EMAIL_SENDING_STOPPED, stage=stage, log=worker.log, event=rules.MAIL_STOPPED_EVENT
        ),
        threshold=rules.EMAIL_SENDING_STOPPED.threshold,
        broke=f"SES refuses every mail of ours ({rules.MAIL_STOPPED_EVENT}): the account is paused or set up wrongly.",
        hurts="No customer gets a mail; the jobs keep until it is mended, for a day.",
        runbook=rules.EMAIL_SENDING_STOPPED.runbook,
        first="aws sesv2 get-account",
    )


def add_gateway_alarm(alarms: Alarms, *, stage: Stage, worker: ShopFunction) -> None:
    """Add the one for a payment gateway that does not let us in. The API's log counts for it as well."""
    event = rules.GATEWAY_MISCONFIGURED_EVENT
    alarms.add(
        rules.GATEWAY_MISCONFIGURED.name,
        metric=count_in_log(worker, LogMetric.GATEWAY_MISCONFIGURED, stage=stage, log=worker.log, event=event),
        threshold=rules.GATEWAY_MISCONFIGURED.threshold,
        broke=f"A payment gateway refuses our key, or its address is wrong ({event}).",
        hurts="Customers cannot pay; refunds, expiries and unconfirmed payments wait until it is mended.",
        runbook=rules.GATEWAY_MISCONFIGURED.runbook,
        first="skincare jobs list --queue payments --state retry_waiting --stage {stage}",
    )


def add_payment_alarms(alarms: Alarms, *, stage: Stage) -> None:
    """Add those for events that changed nothing yet and for money that does not fit its order."""
    alarms.add(
        rules.PAYMENT_EVENTS_UNAPPLIED.name,
        metric=shop_metric(stage, Metric.UNAPPLIED_PAYMENT_EVENTS, statistic="Maximum"),
        threshold=rules.PAYMENT_EVENTS_UNAPPLIED.threshold,
        periods=3,
        broke="Payment events were taken in and are not applied to their orders yet.",
        hurts="Customers have paid and their orders do not say so.",
        runbook=rules.PAYMENT_EVENTS_UNAPPLIED.runbook,
        first="skincare payments list --stage {stage}",
    )
    alarms.add(
        rules.PAYMENT_ANOMALIES.name,
        metric=shop_metric(stage, Metric.OPEN_PAYMENT_ANOMALIES, statistic="Maximum"),
        threshold=rules.PAYMENT_ANOMALIES.threshold,
        broke="Money came that does not fit its order: a wrong amount, twice, or for a cancelled order.",
        hurts="A customer is owed a refund or an answer.",
        runbook=rules.PAYMENT_ANOMALIES.runbook,
        first="skincare payments list --stage {stage}",
    )
    alarms.add(
        rules.RECONCILIATION_FINDINGS.name,
        metric=shop_metric(stage, Metric.OPEN_FINDINGS, statistic="Maximum"),
        threshold=rules.RECONCILIATION_FINDINGS.threshold,
        broke="The reconciliation found orders, payments or mails that do not agree with each other.",
        hurts="Perhaps a customer has paid and was not told, or money lies here that nobody accounts for.",
        runbook=rules.RECONCILIATION_FINDINGS.runbook,
        first="skincare payments list --stage {stage}",
    )
    alarms.add(
        rules.PAYMENT_EVENTS_QUARANTINED.name,
        metric=shop_metric(stage, Metric.QUARANTINED_PAYMENT_EVENTS, statistic="Maximum"),
        threshold=rules.PAYMENT_EVENTS_QUARANTINED.threshold,
        broke="A signed payment event cannot be read or names no order of ours; it is set aside.",
        hurts="Perhaps a customer whose payment we do not recognise.",
        runbook=rules.PAYMENT_EVENTS_QUARANTINED.runbook,
        first="skincare payments list --stage {stage}",
    )


def add_mail_event_alarms(alarms: Alarms, *, stage: Stage, function: ShopFunction, failures: sqs.IQueue) -> None:
    """Add those for bounces and complaints that were not remembered, and for bounces that are our own fault."""
    many = rules.MAIL_SET_UP.threshold
    alarms.add(
        rules.MAIL_SET_UP.name,
        metric=count_in_log(
            function,
            LogMetric.BOUNCES_OF_OURS,
            stage=stage,
            log=function.log,
            event=rules.BOUNCE_OF_OURS_EVENT,
            minutes=60,
        ),
        threshold=many,
        broke=f"Mails came back because of us or of their way, not of their addresses: {many:g} or more in an hour.",
        hurts="Customers get no mails, at one provider or everywhere.",
        runbook=rules.MAIL_SET_UP.runbook,
        first=f"aws logs tail /aws/lambda/skincare-{{stage}}-mail-events --since 2h --filter-pattern "
        f'"{rules.BOUNCE_OF_OURS_EVENT}"',
    )
    alarms.add(
        "mail-event-failures",
        metric=failures.metric_approximate_number_of_messages_visible(statistic="Maximum", period=FIVE_MINUTES),
        threshold=1,
        broke="A bounce or complaint was not written down after three tries.",
        hurts="Mails go on to addresses that bounce, until SES stops us.",
        runbook="mail-event-failures",
        first="aws logs tail /aws/lambda/skincare-{stage}-mail-events --since 1h --filter-pattern ERROR",
    )
