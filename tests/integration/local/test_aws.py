"""What the shop finds on the local AWS: its queues and the secrets of its payment gateways."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from local import aws_setup
from local.queues import create_queues, missing_queues, queue_url
from local.state import Secrets
from local.webhook_secrets import secret_id, webhook_secret
from skincare.adapters.aws import AwsSession, Timeouts
from skincare.adapters.webhook_secrets import SecretsManagerWebhookSecrets
from skincare.deployment.queues import DEAD_LETTER_RETENTION, MAX_RECEIVE_COUNT, SOURCE_RETENTION, QueueName
from skincare.payments.gateways import GATEWAYS
from skincare.payments.gateways.samples import Occurrence, signed
from skincare.payments.gateways.webhooks import READERS
from skincare.payments.models import EventStatus, Webhook
from tests.support.moto import SETTINGS, running_moto

QUICK = Timeouts(connect=timedelta(seconds=2), read=timedelta(seconds=25))
SECRETS = Secrets(app_password="password of the tests", signing_key={})


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    with running_moto() as url, pytest.MonkeyPatch.context() as environment:
        for name, value in SETTINGS.items():
            environment.setenv(name, value)
        yield url


@pytest.fixture(scope="module")
def aws(endpoint: str) -> AwsSession:
    session = AwsSession(endpoint)
    aws_setup.prepare(session, SECRETS)
    return session


class TestTheQueuesOfTheLocalAws:
    @pytest.mark.parametrize("queue", QueueName)
    def test_they_have_the_limits_of_their_definition(self, aws: AwsSession, endpoint: str, queue: QueueName) -> None:
        sqs = aws.client("sqs", QUICK)
        url = queue_url(endpoint, queue)
        source = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
        dead_letters = sqs.get_queue_attributes(QueueUrl=f"{url}-dead-letters", AttributeNames=["All"])["Attributes"]
        assert int(source["VisibilityTimeout"]) == queue.limits.visibility_timeout.total_seconds()
        assert int(source["MessageRetentionPeriod"]) == SOURCE_RETENTION.total_seconds()
        assert int(dead_letters["MessageRetentionPeriod"]) == DEAD_LETTER_RETENTION.total_seconds()
        assert json.loads(source["RedrivePolicy"]) == {
            "deadLetterTargetArn": dead_letters["QueueArn"],
            "maxReceiveCount": MAX_RECEIVE_COUNT,
        }

    def test_a_message_past_its_count_stays_where_it_is_until_somebody_receives(
        self, aws: AwsSession, endpoint: str
    ) -> None:
        # So with consumers off the dead-letter queue looks empty, and the age of the oldest message must alarm.
        sqs = aws.client("sqs", QUICK)
        url = queue_url(endpoint, QueueName.DOCUMENTS)

        def depth(queue_url: str) -> str:
            found = sqs.get_queue_attributes(QueueUrl=queue_url, AttributeNames=["ApproximateNumberOfMessages"])
            return str(found["Attributes"]["ApproximateNumberOfMessages"])

        sqs.send_message(QueueUrl=url, MessageBody="x")
        for _ in range(MAX_RECEIVE_COUNT):
            assert sqs.receive_message(QueueUrl=url, VisibilityTimeout=0)["Messages"]
        assert (depth(url), depth(f"{url}-dead-letters")) == ("1", "0")
        assert "Messages" not in sqs.receive_message(QueueUrl=url, VisibilityTimeout=0)
        assert (depth(url), depth(f"{url}-dead-letters")) == ("0", "1")
        sqs.purge_queue(QueueUrl=f"{url}-dead-letters")

    def test_one_that_was_deleted_is_missed(self, aws: AwsSession, endpoint: str) -> None:
        sqs = aws.client("sqs", QUICK)
        assert missing_queues(sqs) == []
        sqs.delete_queue(QueueUrl=queue_url(endpoint, QueueName.DOCUMENTS))
        assert missing_queues(sqs) == ["documents"]
        create_queues(sqs)
        assert missing_queues(sqs) == []


class TestTheSecretsOfTheLocalAws:
    @pytest.mark.parametrize("gateway", list(GATEWAYS))
    def test_let_each_gateway_sign(self, aws: AwsSession, gateway: str) -> None:
        store = SecretsManagerWebhookSecrets({gateway: secret_id(gateway)}, aws=aws)
        secret = webhook_secret(SECRETS, gateway)
        assert store.secrets(gateway) == (secret,)
        now = datetime.now(UTC)
        what = Occurrence("event-1", "SKN-4T9QX-0M7KD", "transaction-1", "paid", 150_000, now)
        request = signed(gateway, what, secret=secret, sent_at=now)
        event = READERS[gateway].read(Webhook(request.body, request.headers, request.path), [secret], now)
        assert event.report is not None
        assert (event.report.status, event.report.amount_rupiah) == (EventStatus.PAID, 150_000)
        assert abs((event.report.occurred_at or now) - now) <= timedelta(seconds=1)
