"""One alarm: what broke, whom it hurts, and what to do first, in the words that arrive by mail."""

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cw
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_sns as sns
from constructs import Construct

from infra.stage import Stage

MINUTE = cdk.Duration.minutes(1)
FIVE_MINUTES = cdk.Duration.minutes(5)


class Alarms(Construct):
    """The alarms of one stack; they tell one topic when they sound and when they stop."""

    def __init__(self, scope: Construct, construct_id: str, *, stage: Stage, topic: sns.ITopic) -> None:
        super().__init__(scope, construct_id)
        self._stage = stage
        self._action = actions.SnsAction(topic)

    def add(
        self,
        name: str,
        *,
        metric: cw.IMetric,
        threshold: float,
        broke: str,
        hurts: str,
        runbook: str,
        first: str,
        periods: int = 1,
        of: int | None = None,
        when_below: bool = False,
        silence_is_bad: bool = False,
    ) -> cw.Alarm:
        """Sound when `periods` of the last `of` periods reach the threshold, or fall below it.

        `broke` and `hurts` are sentences; `runbook` is a file in docs/runbooks without its ending and `first`
        the command to begin with, with {stage} for the stage's name. Missing data is taken as good unless
        `silence_is_bad`.
        """
        command = first.format(stage=self._stage.name)
        alarm = cw.Alarm(
            self,
            "".join(word.capitalize() for word in name.split("-")),
            alarm_name=f"skincare-{self._stage.name}-{name}",
            alarm_description=f"{broke} {hurts} Runbook: docs/runbooks/{runbook}.md. First: {command}",
            metric=metric,
            threshold=threshold,
            comparison_operator=(
                cw.ComparisonOperator.LESS_THAN_THRESHOLD
                if when_below
                else cw.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD
            ),
            evaluation_periods=of or periods,
            datapoints_to_alarm=periods,
            treat_missing_data=cw.TreatMissingData.BREACHING if silence_is_bad else cw.TreatMissingData.NOT_BREACHING,
        )
        alarm.add_alarm_action(self._action)
        alarm.add_ok_action(self._action)
        return alarm
