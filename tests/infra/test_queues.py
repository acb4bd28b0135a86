"""Queues and what drains them fit together on AWS too: nothing runs twice at once, starves, or is dropped early."""

import pytest

from infra.stage import STAGES, Stage
from skincare.deployment.functions import FUNCTIONS, Trigger
from skincare.deployment.queues import QueueName
from tests.infra.templates import Resource, Templates


def queue_named(templates: Templates, name: str) -> Resource:
    (found,) = [q for q in templates.of("AWS::SQS::Queue") if q.properties["QueueName"].endswith(f"-{name}")]
    return found


def mapping_of(templates: Templates, queue: QueueName) -> Resource:
    (found,) = [
        mapping
        for mapping in templates.of("AWS::Lambda::EventSourceMapping")
        if mapping.properties["EventSourceArn"].endswith(f"-{queue}")
    ]
    return found


@pytest.mark.parametrize("queue", QueueName)
class TestAQueue:
    def test_hides_a_message_for_six_timeouts_of_its_worker_and_the_window(
        self, templates: Templates, queue: QueueName
    ) -> None:
        worker = templates.function(f"worker-{queue}")
        window = mapping_of(templates, queue).properties["MaximumBatchingWindowInSeconds"]
        visibility = queue_named(templates, queue).properties["VisibilityTimeout"]
        assert visibility >= 6 * worker.properties["Timeout"] + window

    def test_gives_a_message_up_only_after_many_receives(self, templates: Templates, queue: QueueName) -> None:
        policy = queue_named(templates, queue).properties["RedrivePolicy"]
        assert policy["deadLetterTargetArn"].endswith(f"-{queue}-dead-letters")
        assert policy["maxReceiveCount"] >= 5

    def test_keeps_dead_letters_for_two_weeks(self, templates: Templates, queue: QueueName) -> None:
        dead_letters = queue_named(templates, f"{queue}-dead-letters")
        assert dead_letters.properties["MessageRetentionPeriod"] == 14 * 24 * 3600

    def test_waits_for_a_batch_above_ten_as_lambda_demands(self, templates: Templates, queue: QueueName) -> None:
        mapping = mapping_of(templates, queue).properties
        assert mapping["BatchSize"] <= 10 or mapping["MaximumBatchingWindowInSeconds"] >= 1

    def test_is_told_which_messages_of_a_batch_failed(self, templates: Templates, queue: QueueName) -> None:
        assert mapping_of(templates, queue).properties["FunctionResponseTypes"] == ["ReportBatchItemFailures"]

    def test_never_starves_for_containers_of_its_worker(self, templates: Templates, queue: QueueName) -> None:
        maximum = mapping_of(templates, queue).properties["ScalingConfig"]["MaximumConcurrency"]
        assert 2 <= maximum <= 1000
        assert templates.function(f"worker-{queue}").properties["ReservedConcurrentExecutions"] >= maximum

    def test_feeds_its_own_worker(self, templates: Templates, queue: QueueName) -> None:
        worker = templates.function(f"worker-{queue}")
        assert mapping_of(templates, queue).raw["Properties"]["FunctionName"] == {"Ref": worker.logical_id}
        assert worker.properties["Environment"]["Variables"]["WORKER_QUEUE"] == queue


class TestEveryQueue:
    def test_is_encrypted(self, templates: Templates) -> None:
        assert all(queue.properties["SqsManagedSseEnabled"] is True for queue in templates.of("AWS::SQS::Queue"))

    def test_refuses_connections_without_tls(self, templates: Templates) -> None:
        for queue in templates.of("AWS::SQS::Queue"):
            (policy,) = [
                policy
                for policy in templates.of("AWS::SQS::QueuePolicy")
                if policy.raw["Properties"]["Queues"] == [{"Ref": queue.logical_id}] and policy.stack == queue.stack
            ]
            (denied,) = [s for s in policy.properties["PolicyDocument"]["Statement"] if s["Effect"] == "Deny"]
            assert denied["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}
            assert denied["Principal"] == {"AWS": "*"}


class TestConnections:
    @pytest.mark.parametrize("stage", STAGES.values(), ids=STAGES)
    def test_that_all_containers_together_may_open_stay_below_what_the_database_takes(
        self, templates: Templates, stage: Stage
    ) -> None:
        possible = 1  # the migrator
        for function in FUNCTIONS:
            if function.trigger is not Trigger.DEPLOY:
                containers = templates.function(function.name).properties["ReservedConcurrentExecutions"]
                possible += containers * function.database_connections
        (parameters,) = templates.of("AWS::RDS::DBParameterGroup")
        limit = int(parameters.properties["Parameters"]["max_connections"])
        # A tenth is for the owner, RDS itself, and the second version of a function during a deploy.
        assert possible <= 0.9 * limit, (
            f"all containers of {stage.name} together may open {possible} connections, and nine tenths of"
            f" {limit} are there: raise max_connections of {stage.name} in infra/stage.py, or lower what a queue"
            " may use (maximum_concurrency, database_connections) in layers/shared/python/skincare/deployment/queues.py"
        )

    def test_the_proxy_is_left_all_that_the_functions_may_ask_for(self, prod: Templates) -> None:
        (group,) = prod.of("AWS::RDS::DBProxyTargetGroup")
        pool = group.properties["ConnectionPoolConfigurationInfo"]
        assert pool["MaxConnectionsPercent"] == 90
        assert pool["ConnectionBorrowTimeout"] == 2
