"""Alarms say what broke, whom it hurts and what to do first; each has its runbook and each runbook its alarm."""

import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest

from infra.stage import PROD, Stage
from skincare.deployment import alarms as rules
from skincare.deployment.alarm_rule import AlarmRule
from skincare.deployment.alarms import ALARM_RULES
from skincare.deployment.functions import FUNCTIONS
from skincare.deployment.queues import QueueName
from tests.architecture.tree import LAMBDA_CODE, ROOT, python_modules, text_of, tracked_files
from tests.infra.templates import Resource, Templates, as_list
from tests.support.typed_commands import flaw_of

DESCRIPTION = re.compile(
    r"(?P<broke>[A-Z].+?\.) (?P<hurts>[A-Z].+\.) Runbook: docs/runbooks/(?P<runbook>[a-z-]+)\.md\. First: (?P<first>.+)"
)
RUNBOOKS = {
    name.removeprefix("docs/runbooks/").removesuffix(".md")
    for name in tracked_files()
    if name.startswith("docs/runbooks/") and not name.endswith("README.md")
}

HEADINGS = [
    "What it means for customers",
    "How bad it is",
    "First commands",
    "What to do",
    "How to know it is over",
    "How to prevent it",
]


def alarms_of(templates: Templates, stage: Stage) -> dict[str, Resource]:
    """Return alarms by their name without the stage's prefix."""
    return {
        alarm.properties["AlarmName"].removeprefix(f"skincare-{stage.name}-"): alarm
        for alarm in templates.of("AWS::CloudWatch::Alarm")
    }


def parts(alarm: Resource) -> re.Match[str]:
    match = DESCRIPTION.fullmatch(alarm.properties["AlarmDescription"])
    assert match is not None, alarm.properties["AlarmDescription"]
    return match


class TestEveryAlarm:
    def test_says_what_broke_whom_it_hurts_and_what_to_do_first(self, stage: Stage, templates: Templates) -> None:
        for alarm in alarms_of(templates, stage).values():
            assert parts(alarm)["first"].split()[0] in {"skincare", "aws"}
            assert "{" not in parts(alarm)["first"].replace("{Name", "")
            assert len(alarm.properties["AlarmDescription"]) <= 1024

    def test_names_a_command_that_exists(self, stage: Stage, templates: Templates) -> None:
        firsts = [parts(alarm)["first"] for alarm in alarms_of(templates, stage).values()]
        typed = [first.removeprefix("skincare ") for first in firsts if first.startswith("skincare ")]
        assert typed
        assert {command: flaw for command in typed if (flaw := flaw_of(command))} == {}

    def test_names_its_own_stage_only(self, stage: Stage, templates: Templates) -> None:
        for alarm in alarms_of(templates, stage).values():
            stages = re.findall(r"--stage (\w+)|skincare-(\w+)-", parts(alarm)["first"])
            assert {name for pair in stages for name in pair if name} <= {stage.name}

    def test_tells_a_person_when_it_sounds_and_when_it_stops(self, templates: Templates, stage: Stage) -> None:
        (topic,) = [t for t in templates.of("AWS::SNS::Topic") if t.properties["TopicName"].endswith("-alarms")]
        for alarm in alarms_of(templates, stage).values():
            assert alarm.properties["AlarmActions"] == [topic.logical_id]
            assert alarm.properties["OKActions"] == [topic.logical_id]

    def test_leads_to_a_runbook(self, templates: Templates, stage: Stage) -> None:
        assert {parts(alarm)["runbook"] for alarm in alarms_of(templates, stage).values()} <= RUNBOOKS


def measured(alarm: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return what an alarm looks at: one metric, or those of its expression."""
    if "Metrics" not in alarm:
        return [alarm]
    return [
        {
            **each["MetricStat"]["Metric"],
            "Period": each["MetricStat"]["Period"],
            "Statistic": each["MetricStat"]["Stat"],
        }
        for each in alarm["Metrics"]
        if "MetricStat" in each
    ]


def names_of(rule: AlarmRule) -> list[str]:
    """Return the names of a rule's alarms without the stage's prefix."""
    if rule.per_queue:
        return [f"{rule.name}-{queue}" for queue in QueueName]
    if rule.per_function:
        return [f"{rule.name}-{function.name}" for function in FUNCTIONS if function.impact is not None]
    return [rule.name]


class TestEveryRule:
    @pytest.mark.parametrize("rule", ALARM_RULES, ids=lambda rule: rule.name)
    def test_is_an_alarm_that_sounds_when_the_rule_says(self, prod: Templates, rule: AlarmRule) -> None:
        found = alarms_of(prod, PROD)
        for name in names_of(rule):
            alarm = found[name].properties
            assert (alarm["EvaluationPeriods"], alarm["DatapointsToAlarm"]) == (rule.of or rule.periods, rule.periods)
            assert {each["Period"] for each in measured(alarm)} == {rule.period.total_seconds()}
            assert alarm["TreatMissingData"] == ("breaching" if rule.silence_is_bad else "notBreaching")
            assert alarm["ComparisonOperator"].startswith("LessThan" if rule.below else "GreaterThanOrEqual")
            assert (alarm["Threshold"] == rule.threshold) == (not rule.counts.startswith("of "))
            assert f"Runbook: {rule.runbook_path}." in alarm["AlarmDescription"]

    def test_is_all_that_there_is(self, prod: Templates) -> None:
        assert set(alarms_of(prod, PROD)) == {name for rule in ALARM_RULES for name in names_of(rule)}


class TestEveryRunbook:
    def test_belongs_to_an_alarm(self, prod: Templates) -> None:
        led_to = {parts(alarm)["runbook"] for alarm in prod.of("AWS::CloudWatch::Alarm")}
        assert led_to == RUNBOOKS

    @pytest.mark.parametrize("name", sorted(RUNBOOKS))
    def test_has_the_six_parts_and_begins_with_the_command_of_its_alarm(self, prod: Templates, name: str) -> None:
        text = (ROOT / f"docs/runbooks/{name}.md").read_text()
        headings = re.findall(r"^## (.+)$", text, flags=re.MULTILINE)
        assert headings == HEADINGS
        commands = text.partition("## First commands")[2]
        firsts = {parts(a)["first"] for a in prod.of("AWS::CloudWatch::Alarm") if parts(a)["runbook"] == name}
        # Where one runbook serves several alarms, it names one of them.
        assert any(first in commands for first in firsts)


class TestThereIsAnAlarm:
    @pytest.mark.parametrize("queue", QueueName)
    def test_for_a_single_dead_job_that_nobody_has_acknowledged(
        self, templates: Templates, stage: Stage, queue: QueueName
    ) -> None:
        alarm = alarms_of(templates, stage)[f"dead-jobs-{queue}"].properties
        assert (alarm["Namespace"], alarm["MetricName"]) == ("Skincare", "UnacknowledgedDeadJobs")
        assert {each["Name"]: each["Value"] for each in alarm["Dimensions"]} == {"Stage": stage.name, "Queue": queue}
        # The present state, not how often it was told.
        assert (alarm["Statistic"], alarm["Threshold"], alarm["EvaluationPeriods"]) == ("Maximum", 1, 1)
        assert queue.limits.impact in alarm["AlarmDescription"]

    @pytest.mark.parametrize("queue", QueueName)
    def test_for_a_dead_letter_that_no_acknowledged_job_explains_late_and_while_the_relay_is_silent(
        self, templates: Templates, stage: Stage, queue: QueueName
    ) -> None:
        alarm = alarms_of(templates, stage)[f"dead-letters-{queue}"].properties
        (expression,) = [each["Expression"] for each in alarm["Metrics"] if "Expression" in each]
        assert expression == "letters - FILL(acknowledged, 0)"
        letters, acknowledged = sorted(measured(alarm), key=lambda each: each["Namespace"])
        assert letters["MetricName"] == "ApproximateNumberOfMessagesVisible"
        assert letters["Dimensions"] == [{"Name": "QueueName", "Value": f"skincare-{stage.name}-{queue}-dead-letters"}]
        assert acknowledged["MetricName"] == "AcknowledgedDeadJobs"
        assert {each["Value"] for each in acknowledged["Dimensions"]} == {stage.name, queue}
        assert {each["Statistic"] for each in measured(alarm)} == {"Maximum"}
        assert alarm["Threshold"] == 1
        assert alarm["ComparisonOperator"] == "GreaterThanOrEqualToThreshold"
        # The relay hides dead letters while it looks through them: one period must be longer than that.
        assert all(each["Period"] > 60 for each in measured(alarm))
        assert rules.DEAD_LETTERS.period * rules.DEAD_LETTERS.periods == timedelta(hours=1)

    @pytest.mark.parametrize("queue", QueueName)
    def test_for_a_queue_that_does_not_drain(self, templates: Templates, stage: Stage, queue: QueueName) -> None:
        alarm = alarms_of(templates, stage)[f"queue-age-{queue}"].properties
        assert alarm["MetricName"] == "ApproximateAgeOfOldestMessage"
        assert alarm["Dimensions"] == [{"Name": "QueueName", "Value": f"skincare-{stage.name}-{queue}"}]
        # With consumers off the dead-letter queue looks empty whatever waits: both runbooks say which alarm tells.
        for runbook in ("queue-age", "dead-letters"):
            assert "consumers are off" in (ROOT / f"docs/runbooks/{runbook}.md").read_text().replace("\n", " ")

    def test_for_a_relay_that_is_silent(self, templates: Templates, stage: Stage) -> None:
        alarm = alarms_of(templates, stage)["outbox-late"].properties
        assert (alarm["Namespace"], alarm["MetricName"]) == ("Skincare", "OutboxLateness")
        assert alarm["TreatMissingData"] == "breaching"

    @pytest.mark.parametrize(
        ("name", "metric"),
        [
            ("payment-events-unapplied", "UnappliedPaymentEvents"),
            ("payment-anomalies", "OpenPaymentAnomalies"),
            ("payment-events-quarantined", "QuarantinedPaymentEvents"),
            ("messages-quarantined", "QuarantinedMessages"),
        ],
    )
    def test_for_money_and_mail_that_are_stuck(
        self, templates: Templates, stage: Stage, name: str, metric: str
    ) -> None:
        alarm = alarms_of(templates, stage)[name].properties
        assert (alarm["Namespace"], alarm["MetricName"], alarm["Threshold"]) == ("Skincare", metric, 1)
        assert alarm["Dimensions"] == [{"Name": "Stage", "Value": stage.name}]

    @pytest.mark.parametrize(
        ("name", "function", "event", "metric", "threshold"),
        [
            ("email-sending-stopped", "worker-notifications", "email.sending_stopped", "EmailSendingStopped", 1),
            ("mail-set-up", "mail-events", "mail_event.ours_to_mend", "BouncesOfOurs", 3),
            ("webhooks-refused", "api", "payment.webhook_refused", "WebhooksRefused", 5),
        ],
    )
    def test_for_what_only_a_log_tells(
        self, templates: Templates, stage: Stage, name: str, function: str, event: str, metric: str, threshold: int
    ) -> None:
        alarm = alarms_of(templates, stage)[name].properties
        assert (alarm["Namespace"], alarm["MetricName"]) == (f"Skincare/{stage.name}", metric)
        assert (alarm["Statistic"], alarm["Threshold"]) == ("Sum", threshold)
        (found,) = [f for f in templates.of("AWS::Logs::MetricFilter") if event in f.properties["FilterPattern"]]
        assert found.properties["FilterPattern"] == f'{{ $.message = "{event}" }}'
        assert found.raw["Properties"]["LogGroupName"]["Ref"] in {
            log.logical_id
            for log in templates.of("AWS::Logs::LogGroup")
            if log.properties.get("LogGroupName") == f"/aws/lambda/skincare-{stage.name}-{function}"
        }
        (counted,) = found.properties["MetricTransformations"]
        assert (counted["MetricNamespace"], counted["MetricName"]) == (alarm["Namespace"], metric)
        assert any(f'("{event}"' in text_of(module) for module in python_modules(LAMBDA_CODE)), "nobody logs it"

    def test_for_a_gateway_that_does_not_let_us_in_whoever_meets_it(self, templates: Templates, stage: Stage) -> None:
        alarm = alarms_of(templates, stage)["gateway-misconfigured"].properties
        assert (alarm["Namespace"], alarm["MetricName"]) == (f"Skincare/{stage.name}", "GatewayMisconfigured")
        assert (alarm["Statistic"], alarm["Threshold"]) == ("Sum", 1)
        event = "payment.gateway_misconfigured"
        filters = [f for f in templates.of("AWS::Logs::MetricFilter") if event in f.properties["FilterPattern"]]
        names = {log.logical_id: log.properties.get("LogGroupName") for log in templates.of("AWS::Logs::LogGroup")}
        assert {names[found.raw["Properties"]["LogGroupName"]["Ref"]] for found in filters} == {
            f"/aws/lambda/skincare-{stage.name}-{function}" for function in ("api", "worker-payments")
        }
        for found in filters:
            assert found.properties["FilterPattern"] == f'{{ $.message = "{event}" }}'
            (counted,) = found.properties["MetricTransformations"]
            assert (counted["MetricNamespace"], counted["MetricName"]) == (alarm["Namespace"], alarm["MetricName"])
        assert any(f'("{event}"' in text_of(module) for module in python_modules(LAMBDA_CODE)), "nobody logs it"

    @pytest.mark.parametrize("queue", QueueName)
    def test_for_items_that_fail_in_numbers(self, templates: Templates, stage: Stage, queue: QueueName) -> None:
        alarm = alarms_of(templates, stage)[f"items-failed-{queue}"].properties
        assert {d["Name"]: d["Value"] for d in alarm["Dimensions"]} == {"Stage": stage.name, "Queue": queue}

    def test_for_every_function_that_serves_or_works(self, templates: Templates, stage: Stage) -> None:
        names = set(alarms_of(templates, stage))
        for function in ("api", "outbox-relay", "mail-events", *(f"worker-{queue}" for queue in QueueName)):
            assert {f"function-{kind}-{function}" for kind in ("errors", "throttles", "slow")} <= names

    def test_for_what_customers_meet_and_what_the_database_runs_out_of(
        self, templates: Templates, stage: Stage
    ) -> None:
        names = set(alarms_of(templates, stage))
        assert {"api-errors", "api-slow", "database-cpu", "database-storage", "database-connections"} <= names
        assert ("database-pinned" in names) == stage.database.proxy


class TestTheTopic:
    def test_is_encrypted_with_a_key_that_alarms_may_use(self, templates: Templates) -> None:
        (key,) = templates.of("AWS::KMS::Key")
        for topic in templates.of("AWS::SNS::Topic"):
            assert topic.raw["Properties"]["KmsMasterKeyId"] == {"Fn::GetAtt": [key.logical_id, "Arn"]}
        services = {
            service: statement["Condition"]
            for statement in key.properties["KeyPolicy"]["Statement"]
            for service in as_list(statement["Principal"].get("Service", []))
        }
        assert services["cloudwatch.amazonaws.com"] == {"StringEquals": {"aws:SourceAccount": "123456789012"}}

    def test_lets_alarms_of_this_account_in(self, templates: Templates) -> None:
        publishers = {
            service: statement["Condition"]["StringEquals"]
            for policy in templates.of("AWS::SNS::TopicPolicy")
            for statement in policy.properties["PolicyDocument"]["Statement"]
            if statement["Effect"] == "Allow"
            for service in as_list(statement["Principal"]["Service"])
        }
        assert publishers == {"cloudwatch.amazonaws.com": {"aws:SourceAccount": "123456789012"}}

    def test_mails_whom_the_stage_names(self, templates: Templates, stage: Stage) -> None:
        addresses = [s.properties["Endpoint"] for s in templates.of("AWS::SNS::Subscription")]
        assert addresses == ([stage.alarm_mail] if stage.alarm_mail else [])
