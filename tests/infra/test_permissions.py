"""Least privilege: no wildcard, and each function may do its own work and nobody else's."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from infra.stage import DEV, Stage
from skincare.deployment.queues import QueueName
from tests.infra.templates import Templates, as_list, strings

# Actions that AWS lets nobody tie to a resource, or whose resource has no name yet.
WITHOUT_RESOURCE = {
    "ec2:AssignPrivateIpAddresses",
    "ec2:CreateNetworkInterface",
    "ec2:DeleteNetworkInterface",
    "ec2:DescribeNetworkInterfaces",
    "ec2:DescribeSubnets",
    "ec2:UnassignPrivateIpAddresses",
    "ses:GetAccount",
    "xray:PutTelemetryRecords",
    "xray:PutTraceSegments",
}
SQS = "arn:aws:sqs:ap-southeast-3:123456789012:skincare"


def sources(stage: Stage) -> set[str]:
    return {f"{SQS}-{stage.name}-{queue}" for queue in QueueName}


def dead_letters(stage: Stage) -> set[str]:
    return {f"{source}-dead-letters" for source in sources(stage)}


def webhook_secrets(stage: Stage) -> set[str]:
    place = "arn:aws:secretsmanager:ap-southeast-3:123456789012:secret"
    return {f"{place}:skincare/{stage.name}/webhooks/{gateway}-AbCdEf" for gateway in stage.gateways}


class TestNoPolicy:
    def test_of_an_identity_has_a_wildcard_action(self, templates: Templates) -> None:
        actions = [
            action
            for resource in (*templates.of("AWS::IAM::Policy"), *templates.of("AWS::IAM::Role"))
            for document in _documents(resource.properties)
            for statement in document["Statement"]
            for action in as_list(statement["Action"])
        ]
        assert len(actions) > 50
        assert [action for action in actions if "*" in action] == []

    def test_of_a_function_is_one_of_aws(self, templates: Templates) -> None:
        for function in templates.functions():
            role = function.raw["Properties"]["Role"]["Fn::GetAtt"][0]
            (found,) = [r for r in templates.of("AWS::IAM::Role") if r.logical_id == role and r.stack == function.stack]
            assert "ManagedPolicyArns" not in found.properties

    def test_covers_everything_unless_the_action_knows_no_resource(self, templates: Templates) -> None:
        for function in templates.functions():
            wide = {action for action, on in templates.actions_of(function).items() if "*" in on}
            assert wide <= WITHOUT_RESOURCE


class TestAFunction:
    def test_writes_its_own_log_only(self, templates: Templates) -> None:
        for function in templates.functions():
            logs = templates.actions_of(function)["logs:PutLogEvents"]
            name = function.properties["FunctionName"]
            assert logs == {f"arn:aws:logs:ap-southeast-3:123456789012:log-group:/aws/lambda/{name}:*"}

    def test_logs_in_to_the_database_as_app_or_is_the_migrator(self, templates: Templates) -> None:
        for function in templates.functions():
            connects = templates.actions_of(function).get("rds-db:connect", set())
            if function.properties["FunctionName"].endswith("-migrator"):
                assert connects == set()
            else:
                (role,) = connects
                assert role.startswith("arn:aws:rds-db:")
                assert role.endswith("/app")


class TestTheApi:
    def test_puts_jobs_on_the_queues_that_requests_need_and_takes_none(
        self, stage: Stage, templates: Templates
    ) -> None:
        allowed = templates.actions_of(templates.function("api"))
        assert allowed["sqs:SendMessage"] == {f"{SQS}-{stage.name}-{queue}" for queue in ("notifications", "payments")}
        assert "sqs:ReceiveMessage" not in allowed

    def test_reads_the_secrets_of_gateways_and_invoices(self, stage: Stage, templates: Templates) -> None:
        allowed = templates.actions_of(templates.function("api"))
        assert allowed["secretsmanager:GetSecretValue"] == webhook_secrets(stage)
        assert "s3:GetObject" in allowed
        assert "s3:PutObject" not in allowed


@pytest.mark.parametrize("queue", QueueName)
class TestAWorker:
    def test_takes_from_its_own_queue_only(self, stage: Stage, templates: Templates, queue: QueueName) -> None:
        allowed = templates.actions_of(templates.function(f"worker-{queue}"))
        own = {f"{SQS}-{stage.name}-{queue}"}
        for action in ("ReceiveMessage", "DeleteMessage", "ChangeMessageVisibility", "GetQueueAttributes"):
            assert allowed[f"sqs:{action}"] == own
        set_off = sources(stage) if queue is QueueName.PAYMENTS else set()
        assert allowed["sqs:SendMessage"] == set_off | {f"{SQS}-{stage.name}-{queue}-dead-letters"}

    def test_mails_only_where_mails_are_its_work(self, templates: Templates, queue: QueueName) -> None:
        allowed = templates.actions_of(templates.function(f"worker-{queue}"))
        assert ("ses:SendEmail" in allowed) == (queue is QueueName.NOTIFICATIONS)

    def test_knows_no_secret_where_no_gateway_can_be_asked(self, templates: Templates, queue: QueueName) -> None:
        assert "secretsmanager:GetSecretValue" not in templates.actions_of(templates.function(f"worker-{queue}"))

    def test_writes_invoices_only_where_documents_are_its_work(self, templates: Templates, queue: QueueName) -> None:
        allowed = templates.actions_of(templates.function(f"worker-{queue}"))
        assert ("s3:PutObject" in allowed) == (queue is QueueName.DOCUMENTS)


class TestTheWorkerOfPayments:
    def test_knows_the_secrets_that_gateways_are_asked_with_and_no_other(
        self, synthesize: Callable[[Stage], Templates]
    ) -> None:
        urls = dict.fromkeys(("midtrans", "midtrans_snap", "xendit"), "https://gateway.example.com")
        templates = synthesize(replace(DEV, gateway_urls=urls))
        worker = templates.function("worker-payments")
        known = templates.actions_of(worker)["secretsmanager:GetSecretValue"]
        assert {arn.rpartition("/")[2] for arn in known} == {"midtrans-AbCdEf", "xendit_api-AbCdEf"}
        given = worker.properties["Environment"]["Variables"]
        assert {given[f"WEBHOOK_SECRET_ID_{name}"] for name in ("MIDTRANS", "XENDIT_API")} == known
        for name in ("worker-notifications", "worker-documents"):
            assert "secretsmanager:GetSecretValue" not in templates.actions_of(templates.function(name))


class TestTheWorkerOfNotifications:
    def test_may_ask_ses_about_every_identity_that_may_allow_the_sender(self, prod: Templates) -> None:
        asked = prod.actions_of(prod.function("worker-notifications"))["ses:GetEmailIdentity"]
        assert {arn.rpartition("/")[2] for arn in asked} == {"shop@example.com", "example.com"}


class TestTheOutboxRelay:
    def test_sends_everywhere_and_takes_dead_letters_only(self, stage: Stage, templates: Templates) -> None:
        allowed = templates.actions_of(templates.function("outbox-relay"))
        failures = {f"{SQS}-{stage.name}-outbox-relay-failures"}
        assert allowed["sqs:SendMessage"] == sources(stage) | dead_letters(stage) | failures
        for action in ("ReceiveMessage", "DeleteMessage", "ChangeMessageVisibility"):
            assert allowed[f"sqs:{action}"] == dead_letters(stage)


class TestTheMigrator:
    def test_reads_the_secret_of_the_owner_and_nothing_else(self, templates: Templates) -> None:
        allowed = templates.actions_of(templates.function("migrator"))
        assert {action for action in allowed if not action.startswith(("ec2:", "logs:", "xray:"))} == {
            "secretsmanager:GetSecretValue"
        }
        (secret,) = allowed["secretsmanager:GetSecretValue"]
        assert "MasterUserSecret" in secret


class TestOnCall:
    def test_may_put_jobs_on_their_queues_and_hand_out_exports_and_nothing_else(
        self, stage: Stage, templates: Templates
    ) -> None:
        allowed = templates.actions_of(templates.function("oncall"))
        ours = {action for action in allowed if not action.startswith(("ec2:", "logs:", "xray:"))}
        assert {action.partition(":")[0] for action in ours} == {"sqs", "rds-db", "s3"}
        assert {action for action in ours if action.startswith("sqs:")} == {"sqs:SendMessage"}
        assert {action for action in ours if action.startswith("s3:")} == {"s3:GetObject"}
        assert all("/exports/" in str(where) for where in allowed["s3:GetObject"])
        assert allowed["sqs:SendMessage"] == sources(stage)

    def test_is_called_by_people_of_the_account_only(self, templates: Templates) -> None:
        oncall = templates.function("oncall")
        permissions = [text for p in templates.of("AWS::Lambda::Permission") for text in strings(p.raw["Properties"])]
        assert oncall.logical_id not in permissions


class TestTheDatabase:
    def test_is_reached_by_functions_and_its_proxy_only(self, templates: Templates) -> None:
        (database,) = templates.of("AWS::RDS::DBInstance")
        assert database.properties["PubliclyAccessible"] is False
        (group,) = database.raw["Properties"]["VPCSecurityGroups"]
        rules = [
            rule
            for rule in templates.of("AWS::EC2::SecurityGroupIngress")
            if rule.raw["Properties"]["GroupId"] == group
        ]
        sources = {rule.properties["SourceSecurityGroupId"].split(".")[0] for rule in rules}
        assert {name.rstrip("0123456789ABCDEF") for name in sources} == {
            "NetworkFunctionsGroup",
            "NetworkDatabaseGroup",
        }
        (own,) = [
            r for r in templates.of("AWS::EC2::SecurityGroup") if [r.logical_id, "GroupId"] == group["Fn::GetAtt"]
        ]
        assert "SecurityGroupIngress" not in own.properties

    def test_stands_in_subnets_without_a_way_out(self, templates: Templates) -> None:
        (subnets,) = templates.of("AWS::RDS::DBSubnetGroup")
        assert all("DatabaseSubnet" in name for name in subnets.properties["SubnetIds"])
        routes = [route.raw["Properties"]["RouteTableId"]["Ref"] for route in templates.of("AWS::EC2::Route")]
        assert routes
        assert not any("DatabaseSubnet" in name for name in routes)

    def test_is_encrypted_and_takes_tokens_over_tls(self, templates: Templates) -> None:
        (database,) = templates.of("AWS::RDS::DBInstance")
        assert database.properties["StorageEncrypted"] is True
        assert database.properties["EnableIAMDatabaseAuthentication"] is True
        assert database.properties["ManageMasterUserPassword"] is True
        assert database.properties["EngineVersion"].startswith("17.")
        (parameters,) = templates.of("AWS::RDS::DBParameterGroup")
        assert parameters.properties["Parameters"]["rds.force_ssl"] == "1"

    def test_writes_no_value_of_a_statement_into_its_log(self, templates: Templates) -> None:
        (parameters,) = templates.of("AWS::RDS::DBParameterGroup")
        settings = parameters.properties["Parameters"]
        assert settings["log_error_verbosity"] == "terse"
        assert settings["log_min_error_statement"] == "panic"
        assert settings["log_parameter_max_length"] == "0"
        assert settings["log_parameter_max_length_on_error"] == "0"
        assert settings["log_statement"] == "none"

    def test_lets_its_proxy_log_in_as_the_functions_do(self, prod: Templates) -> None:
        (proxy,) = prod.of("AWS::RDS::DBProxy")
        assert proxy.properties["DefaultAuthScheme"] == "IAM_AUTH"
        assert proxy.properties["RequireTLS"] is True
        role = proxy.raw["Properties"]["RoleArn"]["Fn::GetAtt"][0]
        (policy,) = [p for p in prod.of("AWS::IAM::Policy") if {"Ref": role} in p.raw["Properties"]["Roles"]]
        (statement,) = policy.properties["PolicyDocument"]["Statement"]
        assert statement["Action"] == "rds-db:connect"
        assert statement["Resource"].endswith("/app")


def _documents(properties: object) -> list[dict[str, list[dict[str, object]]]]:
    match properties:
        case {"PolicyDocument": dict(document)}:
            return [document]
        case {"Policies": list(policies)}:
            return [policy["PolicyDocument"] for policy in policies]
        case _:
            return []
