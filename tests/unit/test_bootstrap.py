"""A container that lacks a setting fails at its start, with the setting's name and no value."""

import pytest

from skincare.bootstrap import build_app
from skincare.config import Settings
from skincare.errors import ConfigurationError
from skincare.jobs.queues import QueueName

SECRET = "postgresql://app:canary@127.0.0.1:1/shop"
COMPLETE = {
    "DATABASE_URL": SECRET,
    "MAIL_FROM": "shop@example.com",
    **{f"QUEUE_URL_{queue.upper()}": "https://sqs.example.com/1" for queue in QueueName},
    **{f"DEAD_LETTER_QUEUE_URL_{queue.upper()}": "https://sqs.example.com/2" for queue in QueueName},
}


class TestSettings:
    def test_a_complete_environment_makes_an_app_without_connecting_anywhere(self) -> None:
        app = build_app(Settings.from_env(COMPLETE))
        assert set(app.queues) == set(QueueName)

    @pytest.mark.parametrize("missing", sorted(COMPLETE))
    @pytest.mark.parametrize("value", [None, ""])
    def test_what_is_missing_is_named_and_nothing_else_is_told(self, missing: str, value: str | None) -> None:
        environment = {name: text for name, text in COMPLETE.items() if name != missing}
        if value is not None:
            environment[missing] = value
        with pytest.raises(ConfigurationError) as refused:
            build_app(Settings.from_env(environment))
        assert missing in str(refused.value)
        assert "canary" not in str(refused.value)

    def test_a_worker_of_no_queue_is_refused(self) -> None:
        with pytest.raises(ConfigurationError, match="WORKER_QUEUE"):
            build_app(Settings.from_env(COMPLETE | {"WORKER_QUEUE": "nonsense"}))

    def test_settings_do_not_show_the_database_password(self) -> None:
        assert "canary" not in repr(Settings.from_env(COMPLETE))
