"""Each function gets its own code, limits, log and every setting that the product asks for."""

import dataclasses
import json
from datetime import timedelta
from pathlib import Path

import pytest

from infra.stage import DEV, Stage, UnpaidOrders
from skincare.bootstrap import build_app, worker_queue
from skincare.config import Settings
from skincare.deployment import functions
from skincare.deployment.functions import FUNCTIONS
from skincare.deployment.queues import QueueName
from skincare.orders.terms import Terms, WayToPay, terms_of
from skincare.payments.gateways import GATEWAYS
from tests.architecture.tree import ROOT
from tests.infra.conftest import Synthesize
from tests.infra.templates import Resource, Templates

BY_NAME = {function.name: function for function in FUNCTIONS}
NAMES = sorted(BY_NAME)
EVERY_SETTING = dataclasses.replace(
    DEV,
    payment_gateway="midtrans",
    gateway_urls={"midtrans": "https://api.example.com"},
    merchant_ids={"midtrans": "M-1"},
    settings={
        **DEV.settings,
        "MAIL_REPLY_TO": "help@dev.example.com",
        "SELLER_EMAIL": "help@dev.example.com",
        "SELLER_PHONE": "0",
        "TAX_PERCENT": "0",
        "PUBLIC_PATH_PREFIX": "/shop",
    },
)
"""A stage that leaves out nothing but the release, which the build names."""
IN_LAMBDA = {"AWS_REGION": "ap-southeast-3", "AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "secret"}


def settings_of(function: Resource) -> Settings:
    return Settings.from_env({**function.properties["Environment"]["Variables"], **IN_LAMBDA})


def asset_of(templates: Templates, function: Resource) -> Path:
    key = str(function.properties["Code"]["S3Key"])
    return templates.folder / f"asset.{key.removesuffix('.zip')}"


class TestAStageOfItsOwn:
    def test_says_how_long_and_how_much_is_held_unpaid(self, synthesize: Synthesize) -> None:
        unpaid = UnpaidOrders(
            window_minutes=20, bank_transfer_minutes=30, counter_minutes=40, orders_per_customer=5, units_per_product=6
        )
        templates = synthesize(dataclasses.replace(DEV, unpaid_orders=unpaid))
        minutes = {number: timedelta(minutes=number) for number in (20, 30, 40)}
        windows = {WayToPay.BANK_TRANSFER: minutes[30], WayToPay.COUNTER: minutes[40]}
        assert terms_of(settings_of(templates.function("api"))) == Terms(minutes[20], windows, 5, 6)

    def test_gives_each_function_every_setting_of_the_table_and_no_other(self, synthesize: Synthesize) -> None:
        templates = synthesize(EVERY_SETTING)
        assert {each.properties["FunctionName"] for each in templates.functions()} == {
            f"skincare-dev-{name}" for name in NAMES
        }
        for name, function in BY_NAME.items():
            given = set(templates.function(name).properties["Environment"]["Variables"])
            assert {each for each in given if not function.is_given(each)} == set(), name
            missing = {
                setting.name for setting in function.all_settings if not any(setting.is_of(each) for each in given)
            }
            assert missing == {"RELEASE"}, name

    def test_is_refused_a_setting_that_no_function_is_given(self) -> None:
        with pytest.raises(ValueError, match="SELLER_NAM:"):
            dataclasses.replace(DEV, settings={"SELLER_NAM": "PT Contoh Skincare"})


@pytest.mark.parametrize("name", NAMES)
class TestAFunction:
    def test_has_the_limits_that_the_local_system_runs_it_with(self, templates: Templates, name: str) -> None:
        properties = templates.function(name).properties
        assert properties["Timeout"] == BY_NAME[name].timeout.total_seconds()
        assert properties["MemorySize"] == BY_NAME[name].memory_mb

    def test_runs_where_its_packages_were_built_for(self, templates: Templates, name: str) -> None:
        function = templates.function(name)
        assert function.properties["Runtime"] == "python3.13"
        assert function.properties["Architectures"] == ["arm64"]
        (layer,) = function.raw["Properties"]["Layers"]
        (version,) = [v for v in templates.of("AWS::Lambda::LayerVersion") if v.stack == function.stack]
        assert layer == {"Ref": version.logical_id}

    def test_can_be_watched(self, stage: Stage, templates: Templates, name: str) -> None:
        function = templates.function(name)
        assert function.properties["TracingConfig"] == {"Mode": "Active"}
        assert function.properties["LoggingConfig"]["LogFormat"] == "JSON"
        log = function.raw["Properties"]["LoggingConfig"]["LogGroup"]["Ref"]
        (group,) = [each for each in templates.of("AWS::Logs::LogGroup") if each.logical_id == log]
        assert group.properties["RetentionInDays"] == stage.log_days

    def test_starts_with_the_settings_that_it_is_given(self, templates: Templates, name: str) -> None:
        environment = templates.function(name).properties["Environment"]["Variables"] | IN_LAMBDA
        settings = Settings.from_env(environment, needs=BY_NAME[name].needs)
        if name == "migrator":
            assert settings.database_secret_id
        else:
            build_app(settings)

    def test_finds_the_database_over_tls_that_is_verified(self, templates: Templates, name: str) -> None:
        url = settings_of(templates.function(name)).database_url
        assert "sslmode=verify-full" in url
        assert "sslrootcert=/opt/python/skincare/database/rds_ca.pem" in url
        assert (ROOT / "layers/shared/python/skincare/database/rds_ca.pem").is_file()


class TestCode:
    def test_of_every_folder_of_functions_is_deployed_alone(self, dev: Templates) -> None:
        packages = {path.parent.name for path in (ROOT / "functions").glob("*/lambda_function.py")}
        assert packages >= {"api", "worker", "outbox_relay", "migrator"}
        for package in packages:
            handler = f"{package}.lambda_function.lambda_handler"
            functions = [each for each in dev.functions() if each.properties["Handler"] == handler]
            assert functions, package
            for function in functions:
                assert [path.name for path in asset_of(dev, function).iterdir()] == [package]

    def test_is_named_for_its_package(self, dev: Templates) -> None:
        handlers = {each.properties["Handler"].split(".")[0] for each in dev.functions()}
        assert handlers == {"api", "worker", "outbox_relay", "migrator", "oncall", "mail_events"}


class TestTheApi:
    def test_may_use_every_gateway_that_the_product_knows(self, templates: Templates) -> None:
        settings = settings_of(templates.function("api"))
        assert set(settings.webhook_secret_ids) == set(GATEWAYS)
        assert settings.serves_customers

    def test_is_reached_behind_an_alias(self, templates: Templates) -> None:
        (integration,) = templates.of("AWS::ApiGatewayV2::Integration")
        (alias,) = templates.of("AWS::Lambda::Alias")
        assert integration.raw["Properties"]["IntegrationUri"] == {"Ref": alias.logical_id}
        assert integration.properties["PayloadFormatVersion"] == "2.0"

    def test_outside_dev_gets_a_tenth_of_the_traffic_first_and_goes_back_when_its_alarms_sound(
        self, stage: Stage, templates: Templates
    ) -> None:
        groups = templates.of("AWS::CodeDeploy::DeploymentGroup")
        if stage.name == "dev":
            assert groups == []
            return
        (group,) = groups
        assert group.properties["DeploymentConfigName"].startswith("CodeDeployDefault.LambdaCanary10Percent")
        assert "DEPLOYMENT_STOP_ON_ALARM" in group.properties["AutoRollbackConfiguration"]["Events"]
        alarms = {alarm["Name"]["Ref"] for alarm in group.raw["Properties"]["AlarmConfiguration"]["Alarms"]}
        names = {a.properties["AlarmName"] for a in templates.of("AWS::CloudWatch::Alarm") if a.logical_id in alarms}
        assert names == {f"skincare-{stage.name}-api-errors", f"skincare-{stage.name}-function-errors-api"}


class TestAWorker:
    @pytest.mark.parametrize("queue", QueueName)
    def test_drains_the_queue_of_its_name(self, prod: Templates, queue: QueueName) -> None:
        assert worker_queue(settings_of(prod.function(f"worker-{queue}"))) is queue


class TestTheOutboxRelay:
    def test_runs_each_minute_and_never_twice_at_once(self, templates: Templates) -> None:
        (schedule,) = templates.of("AWS::Scheduler::Schedule")
        assert schedule.properties["ScheduleExpression"] == "rate(1 minute)"
        relay = templates.function("outbox-relay")
        assert schedule.properties["Target"]["Arn"].endswith(relay.properties["FunctionName"])
        assert relay.properties["ReservedConcurrentExecutions"] == 1

    def test_is_not_repeated_when_it_failed_and_tells(self, templates: Templates) -> None:
        relay = {"Ref": templates.function("outbox-relay").logical_id}
        configurations = templates.of("AWS::Lambda::EventInvokeConfig")
        (once,) = [each for each in configurations if each.raw["Properties"]["FunctionName"] == relay]
        assert once.properties["MaximumRetryAttempts"] == 0
        destination = once.properties["DestinationConfig"]["OnFailure"]["Destination"]
        assert destination.endswith("-outbox-relay-failures")


class TestMailEvents:
    def test_are_the_bounces_and_complaints_of_our_own_mails(self, templates: Templates, stage: Stage) -> None:
        (rule,) = templates.of("AWS::Events::Rule")
        assert rule.properties["EventPattern"] == {
            "source": ["aws.ses"],
            "detail-type": ["Email Bounced", "Email Complaint Received"],
            "detail": {"mail": {"tags": {"ses:configuration-set": [f"skincare-{stage.name}"]}}},
        }
        (target,) = rule.properties["Targets"]
        assert target["Arn"].endswith(f"skincare-{stage.name}-mail-events")
        (given,) = templates.of("AWS::SES::ConfigurationSetEventDestination")
        assert {"BOUNCE", "COMPLAINT"} <= {
            kind.upper() for kind in given.properties["EventDestination"]["MatchingEventTypes"]
        }
        assert given.properties["EventDestination"]["EventBridgeDestination"]["EventBusArn"].endswith(
            "event-bus/default"
        )

    def test_are_not_remembered_by_ses_beside_us_where_nobody_could_lift_them(self, templates: Templates) -> None:
        (configuration,) = templates.of("AWS::SES::ConfigurationSet")
        assert configuration.properties["SuppressionOptions"] == {"SuppressedReasons": ["COMPLAINT"]}


class TestTheMigrator:
    def test_runs_after_the_database_and_before_every_other_function(self, templates: Templates) -> None:
        (trigger,) = templates.of("Custom::Trigger")
        assert trigger.stack == "Data"
        (database,) = templates.of("AWS::RDS::DBInstance")
        assert database.logical_id in trigger.raw["DependsOn"]
        manifest = json.loads((templates.folder / "manifest.json").read_text())["artifacts"]
        data = next(name for name in manifest if name.endswith("-Data"))
        for stack in ("Api", "Workers"):
            (artifact,) = [item for name, item in manifest.items() if name.endswith(f"-{stack}")]
            assert data in artifact["dependencies"]

    def test_fails_the_deploy_when_it_fails(self, templates: Templates) -> None:
        (trigger,) = templates.of("Custom::Trigger")
        assert trigger.properties["InvocationType"] == "RequestResponse"
        assert int(trigger.properties["Timeout"]) >= functions.MIGRATOR.timeout.total_seconds() * 1000

    def test_alone_knows_the_owner_of_the_database(self, templates: Templates) -> None:
        owners = [
            each.properties["FunctionName"]
            for each in templates.functions()
            if "DATABASE_SECRET_ID" in each.properties["Environment"]["Variables"]
        ]
        assert [name.rpartition("-")[2] for name in owners] == ["migrator"]
