"""The alarms of one stack, made of the rules in `skincare.deployment.alarms`."""

from collections.abc import Mapping

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cw
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_sns as sns
from constructs import Construct

from infra.function import ShopFunction
from infra.metrics import count_in_log, log_metric, shop_metric
from infra.stage import Stage
from skincare.deployment.alarm_rule import AlarmRule
from skincare.deployment.alarms import ALARM_RULES
from skincare.deployment.log_events import COUNTED_EVENTS, CountedEvent
from skincare.deployment.metrics import Metric
from skincare.deployment.queues import QueueName


class Alarms(Construct):
    """They notify one topic when they fire and when they stop."""

    def __init__(self, scope: Construct, construct_id: str, *, stage: Stage, topic: sns.ITopic) -> None:
        super().__init__(scope, construct_id)
        self._stage = stage
        self._action = actions.SnsAction(topic)

    def add(
        self, rule: AlarmRule, metric: cw.IMetric, *, of: str | None = None, whole: float = 1, **names: str
    ) -> cw.Alarm:
        """Add a rule's alarm, where there are several `of` one queue or function; `names` go into its words.

        Where the rule's threshold is a fraction, `whole` is what it is a fraction of.
        """
        name = rule.name if of is None else f"{rule.name}-{of}"
        alarm = cw.Alarm(
            self,
            "".join(word.capitalize() for word in name.split("-")),
            alarm_name=f"skincare-{self._stage.name}-{name}",
            alarm_description=rule.description(stage=self._stage.name, whole=f"{whole:g}", **names),
            metric=metric,
            threshold=rule.threshold_of(whole),
            comparison_operator=(
                cw.ComparisonOperator.LESS_THAN_THRESHOLD
                if rule.below
                else cw.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD
            ),
            evaluation_periods=rule.of or rule.periods,
            datapoints_to_alarm=rule.periods,
            treat_missing_data=(
                cw.TreatMissingData.BREACHING if rule.silence_is_bad else cw.TreatMissingData.NOT_BREACHING
            ),
        )
        alarm.add_alarm_action(self._action)
        alarm.add_ok_action(self._action)
        return alarm

    def add_shop_alarms(self) -> None:
        """Add those of the metrics that the functions write."""
        for rule in ALARM_RULES:
            if not isinstance(rule.metric, Metric):
                continue
            statistic = "Sum" if rule.adds_up else "Maximum"
            if rule.per_queue:
                for queue in QueueName:
                    metric = shop_metric(
                        self._stage, rule.metric, statistic=statistic, period=rule.period, Queue=queue.value
                    )
                    self.add(rule, metric, of=queue, queue=queue, impact=queue.limits.impact)
            else:
                self.add(rule, shop_metric(self._stage, rule.metric, statistic=statistic, period=rule.period))

    def add_log_alarms(self, functions: Mapping[str, ShopFunction]) -> None:
        """Count the events in the logs of these functions, and add the alarms that belong to them."""
        for event in COUNTED_EVENTS:
            for name in event.functions:
                if name in functions:
                    count_in_log(functions[name], event, stage=self._stage)
        for rule in ALARM_RULES:
            if isinstance(rule.metric, CountedEvent) and rule.metric.functions[-1] in functions:
                self.add(rule, log_metric(self._stage, rule.metric, period=rule.period))


def duration(rule: AlarmRule) -> cdk.Duration:
    """Return a rule's period."""
    return cdk.Duration.seconds(int(rule.period.total_seconds()))
