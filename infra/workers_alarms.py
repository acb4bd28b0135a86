"""The alarms that the jobs and the payments themselves raise."""

from aws_cdk import aws_sqs as sqs

from infra.alarm import FIVE_MINUTES, Alarms
from infra.metrics import ShopMetric, shop_metric
from infra.stage import Stage
from skincare.jobs.queues import QueueName

_LATE_S = 5 * 60
_FAILED_ITEMS = 20


def add_job_alarms(alarms: Alarms, *, stage: Stage, relay_failures: sqs.IQueue) -> None:
    """Add those for an outbox that is late, a relay that fails, jobs that fail in numbers, and mail that stopped."""
    alarms.add(
        "outbox-late",
        metric=shop_metric(stage, ShopMetric.OUTBOX_LATENESS_S, statistic="Maximum"),
        threshold=_LATE_S,
        periods=2,
        of=3,
        # The relay writes it each minute: silence means that it does not run.
        silence_is_bad=True,
        broke=f"A job waits to be put on its queue for more than {_LATE_S // 60} minutes, or the relay does not run.",
        hurts="Mails, payments and invoices are late.",
        runbook="outbox-late",
        first="skincare outbox status --stage {stage}",
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
            threshold=_FAILED_ITEMS,
            periods=3,
            broke=f"Jobs of the queue {queue} fail, {_FAILED_ITEMS} or more in five minutes, again and again.",
            hurts="They are tried again until their budget is spent; customers wait.",
            runbook="items-failed",
            first=f"skincare jobs list --queue {queue} --state retry_waiting --stage {{stage}}",
        )
    alarms.add(
        "email-sending-stopped",
        metric=shop_metric(stage, ShopMetric.EMAIL_SENDING_STOPPED, statistic="Sum"),
        threshold=1,
        broke="SES refuses every mail of ours (email.sending_stopped): the account is paused or set up wrongly.",
        hurts="No customer gets a mail; the jobs keep until it is mended, for a day.",
        runbook="email-sending-stopped",
        first="aws sesv2 get-account",
    )


def add_payment_alarms(alarms: Alarms, *, stage: Stage) -> None:
    """Add those for events that changed nothing yet and for money that does not fit its order."""
    alarms.add(
        "payment-events-unapplied",
        metric=shop_metric(stage, ShopMetric.UNAPPLIED_PAYMENT_EVENTS, statistic="Maximum"),
        threshold=1,
        periods=3,
        broke="Payment events were taken in and are not applied to their orders yet.",
        hurts="Customers have paid and their orders do not say so.",
        runbook="payment-events-unapplied",
        first="skincare payments unapplied --stage {stage}",
    )
    alarms.add(
        "payment-anomalies",
        metric=shop_metric(stage, ShopMetric.OPEN_PAYMENT_ANOMALIES, statistic="Maximum"),
        threshold=1,
        broke="Money came that does not fit its order: a wrong amount, twice, or for a cancelled order.",
        hurts="A customer is owed a refund or an answer.",
        runbook="payment-anomalies",
        first="skincare payments anomalies --stage {stage}",
    )
    alarms.add(
        "payment-events-quarantined",
        metric=shop_metric(stage, ShopMetric.QUARANTINED_PAYMENT_EVENTS, statistic="Maximum"),
        threshold=1,
        broke="A signed payment event cannot be read or names no order of ours; it is set aside.",
        hurts="Perhaps a customer whose payment we do not recognise.",
        runbook="payment-events-quarantined",
        first="skincare payments quarantined --stage {stage}",
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
