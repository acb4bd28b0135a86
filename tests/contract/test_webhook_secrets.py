"""The signing secrets of payment gateways come from Secrets Manager, through a short cache."""

import json
import uuid

import pytest

from skincare.adapters.aws import AwsSession
from skincare.adapters.webhook_secrets import SecretsManagerWebhookSecrets
from skincare.payments.errors import GatewayUnknown, SecretsUnavailable
from tests.support.aws import LONG_TIMEOUTS
from tests.support.log import recorded_log


class Clock:
    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


class Store:
    """One gateway's secret in Secrets Manager, and what reads it."""

    def __init__(self, aws: AwsSession) -> None:
        self._client = aws.client("secretsmanager", LONG_TIMEOUTS)
        self.name = f"webhook-{uuid.uuid4()}"
        self.clock = Clock()
        self.secrets = SecretsManagerWebhookSecrets({"doku": self.name}, aws=aws, clock=self.clock)

    def create(self, content: str) -> None:
        self._client.create_secret(Name=self.name, SecretString=content)

    def change(self, *entries: str) -> None:
        self._client.put_secret_value(SecretId=self.name, SecretString=json.dumps({"secrets": entries}))

    def delete(self) -> None:
        self._client.delete_secret(SecretId=self.name, ForceDeleteWithoutRecovery=True)


@pytest.fixture
def store(aws: AwsSession) -> Store:
    # The server loads this service with the first call, which may take longer than the product waits.
    aws.client("secretsmanager", LONG_TIMEOUTS).list_secrets()
    return Store(aws)


class TestTheSecrets:
    def test_are_several_during_a_roll(self, store: Store) -> None:
        store.create('{"secrets": ["new", "old"], "note": 1}')
        assert store.secrets.secrets("doku") == ("new", "old")

    def test_are_kept_for_five_minutes(self, store: Store) -> None:
        store.create('{"secrets": ["old"]}')
        assert store.secrets.secrets("doku") == ("old",)
        store.change("new")
        store.clock.now += 299
        assert store.secrets.secrets("doku") == ("old",)
        store.clock.now += 1
        assert store.secrets.secrets("doku") == ("new",)

    def test_are_looked_up_at_once_when_asked_for_fresh_but_not_in_a_flood(self, store: Store) -> None:
        store.create('{"secrets": ["old"]}')
        store.secrets.secrets("doku")
        store.change("new")
        store.clock.now += 9
        assert store.secrets.secrets("doku", fresh=True) == ("old",)
        store.clock.now += 1
        assert store.secrets.secrets("doku", fresh=True) == ("new",)

    def test_go_on_while_the_store_has_an_outage(self, store: Store) -> None:
        store.create('{"secrets": ["old"]}')
        store.secrets.secrets("doku")
        store.delete()
        store.clock.now += 400
        with recorded_log() as log:
            assert store.secrets.secrets("doku") == ("old",)
        assert [line["message"] for line in log.lines] == ["payment.secrets_outdated"]

    def test_of_a_gateway_without_any_make_it_unknown(self, store: Store) -> None:
        with pytest.raises(GatewayUnknown):
            store.secrets.secrets("midtrans")

    def test_that_are_missing_are_an_outage(self, store: Store) -> None:
        with pytest.raises(SecretsUnavailable, match="no signing secrets of doku: ResourceNotFoundException"):
            store.secrets.secrets("doku")

    def test_of_a_store_that_is_away_are_an_outage(self, aws_endpoint: str) -> None:
        secrets = SecretsManagerWebhookSecrets({"doku": "any"}, aws=AwsSession("http://127.0.0.1:9"))
        with pytest.raises(SecretsUnavailable, match="EndpointConnectionError"):
            secrets.secrets("doku")

    @pytest.mark.parametrize(
        "content",
        [
            "canary",
            '"canary"',
            '["canary"]',
            '{"secrets": "canary"}',
            '{"secrets": []}',
            '{"secrets": ["canary", ""]}',
            '{"secrets": ["canary\\n"]}',
            '{"secrets": ["canary\\u00e9"]}',
            '{"secrets": [1]}',
        ],
    )
    def test_that_are_malformed_are_told_without_their_content(self, store: Store, content: str) -> None:
        store.create(content)
        with pytest.raises(SecretsUnavailable) as caught:
            store.secrets.secrets("doku")
        assert "canary" not in str(caught.value)
        assert caught.value.__cause__ is None

    def test_are_not_shown(self, store: Store) -> None:
        store.create('{"secrets": ["canary"]}')
        store.secrets.secrets("doku")
        assert "canary" not in repr(vars(store.secrets))
