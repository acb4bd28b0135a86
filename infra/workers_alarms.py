"""The alarms that the jobs and the payments themselves raise."""

from aws_cdk import aws_sqs as sqs

from infra.alarm import FIVE_MINUTES, Alarms
from infra.function import ShopFunction
from infra.metrics import LogMetric, ShopMetric, count_in_log, shop_metric
from infra.stage import Stage
from infra.thresholds import (
    FAILED_ITEMS,
    MAIL_STOPPED,
    MAIL_STOPPED_EVENT,
    OUTBOX_LATE_S,
    UNAPPLIED_PAYMENT_EVENTS,
    WAITING_FOR_A_PERSON,
)
from skincare.jobs.queues import QueueName


def add_job_alarms(alarms: Alarms, *, stage: Stage, relay_failures: sqs.IQueue) -> None:
    """Add those for an outbox that is late, a relay that fails, jobs that fail, and messages that are no jobs."""
    alarms.add(
        "outbox-late",
        metric=shop_metric(stage, ShopMetric.OUTBOX_LATENESS_S, statistic="Maximum"),
        threshold=OUTBOX_LATE_S,
        periods=2,
        of=3,
        # The relay writes it each minute: silence means that it does not run.
        silence_is_bad=True,
        broke=f"A job waits for its queue for more than {OUTBOX_LATE_S // 60} minutes, or the relay does not run.",
        hurts="Mails, payments and invoices are late.",
        runbook="outbox-late",
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
    for queue in QueueName:
        alarms.add(
            f"items-failed-{queue}",
            metric=shop_metric(stage, ShopMetric.ITEMS_FAILED, statistic="Sum", Queue=queue.value),
            threshold=FAILED_ITEMS,
            periods=3,
            broke=f"Jobs of the queue {queue} fail, {FAILED_ITEMS} or more in five minutes, again and again.",
            hurts="They are tried again until their budget is spent; customers wait.",
            runbook="items-failed",
            first=f"skincare jobs list --queue {queue} --state retry_waiting --stage {{stage}}",
        )
    alarms.add(
        "messages-quarantined",
        metric=shop_metric(stage, ShopMetric.QUARANTINED_MESSAGES, statistic="Maximum"),
        threshold=WAITING_FOR_A_PERSON,
        broke="A message on a dead-letter queue belongs to no job of ours; it is kept in the quarantine.",
        hurts="Perhaps nobody; perhaps work of a customer that somebody sent to the wrong queue.",
        runbook="messages-quarantined",
        first="skincare dlq list --stage {stage}",
    )


def add_mail_alarm(alarms: Alarms, *, stage: Stage, worker: ShopFunction) -> None:
    """Add the one for mail that is stopped as a whole. A rate limit that passes is a warning in the log only."""
    alarms.add(
        "email-sending-stopped",
        metric=count_in_log(
            worker, LogMetric.EMAIL_SENDING_STOPPED, stage=stage, log=worker.log, event=MAIL_STOPPED_EVENT
        ),
        threshold=MAIL_STOPPED,
        broke=f"SES refuses every mail of ours ({MAIL_STOPPED_EVENT}): the account is paused or set up wrongly.",
        hurts="No customer gets a mail; the jobs keep until it is mended, for a day.",
        runbook="email-sending-stopped",
        first="aws sesv2 get-account",
    )


def add_payment_alarms(alarms: Alarms, *, stage: Stage) -> None:
    """Add those for events that changed nothing yet and for money that does not fit its order."""
    alarms.add(
        "payment-events-unapplied",
        metric=shop_metric(stage, ShopMetric.UNAPPLIED_PAYMENT_EVENTS, statistic="Maximum"),
        threshold=UNAPPLIED_PAYMENT_EVENTS,
        periods=3,
        broke="Payment events were taken in and are not applied to their orders yet.",
        hurts="Customers have paid and their orders do not say so.",
        runbook="payment-events-unapplied",
        first="skincare payments list --stage {stage}",
    )
    alarms.add(
        "payment-anomalies",
        metric=shop_metric(stage, ShopMetric.OPEN_PAYMENT_ANOMALIES, statistic="Maximum"),
        threshold=WAITING_FOR_A_PERSON,
        broke="Money came that does not fit its order: a wrong amount, twice, or for a cancelled order.",
        hurts="A customer is owed a refund or an answer.",
        runbook="payment-anomalies",
        first="skincare payments list --stage {stage}",
    )
    alarms.add(
        "payment-events-quarantined",
        metric=shop_metric(stage, ShopMetric.QUARANTINED_PAYMENT_EVENTS, statistic="Maximum"),
        threshold=WAITING_FOR_A_PERSON,
        broke="A signed payment event cannot be read or names no order of ours; it is set aside.",
        hurts="Perhaps a customer whose payment we do not recognise.",
        runbook="payment-events-quarantined",
        first="skincare payments list --stage {stage}",
    )


def add_mail_event_alarm(alarms: Alarms, *, failures: sqs.IQueue, hurts: str) -> None:
    """Add the one for bounces and complaints that were not remembered."""
    alarms.add(
        "mail-event-failures",
        metric=failures.metric_approximate_number_of_messages_visible(statistic="Maximum", period=FIVE_MINUTES),
        threshold=1,
        broke="A bounce or complaint was not written down after three tries.",
        hurts=hurts,
        runbook="mail-event-failures",
        first="aws logs tail /aws/lambda/skincare-{stage}-mail-events --since 1h --filter-pattern ERROR",
    )
