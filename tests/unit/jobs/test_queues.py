"""The numbers of every queue fit together."""

from datetime import timedelta

import pytest

from skincare.deployment.queues import DEAD_LETTER_RETENTION, MAX_RECEIVE_COUNT, SOURCE_RETENTION, QueueName
from skincare.jobs.worker.lease_session import RESERVE


@pytest.mark.parametrize("queue", QueueName)
class TestQueueLimits:
    def test_visibility_outlasts_six_invocations_and_the_window(self, queue: QueueName) -> None:
        limits = queue.limits
        assert limits.visibility_timeout >= 6 * limits.function_timeout + limits.batch_window

    def test_a_full_batch_of_slow_handlers_and_one_suspect_fit_one_invocation(self, queue: QueueName) -> None:
        limits = queue.limits
        waves = -(-limits.batch_size // limits.threads)
        assert (waves + 1) * limits.handler_limit + 2 * RESERVE <= limits.function_timeout

    def test_a_batch_above_ten_has_a_window(self, queue: QueueName) -> None:
        limits = queue.limits
        assert limits.batch_size <= 10 or limits.batch_window >= timedelta(seconds=1)

    def test_concurrency_is_what_an_event_source_mapping_takes(self, queue: QueueName) -> None:
        assert 2 <= queue.limits.maximum_concurrency <= 1000

    def test_a_container_lends_its_connections_to_no_more_threads_than_it_has(self, queue: QueueName) -> None:
        assert 1 <= queue.limits.database_connections <= queue.limits.threads


def test_receives_are_only_a_backstop_and_dead_letters_outlive_their_source() -> None:
    assert MAX_RECEIVE_COUNT >= 5
    assert DEAD_LETTER_RETENTION > SOURCE_RETENTION
    assert DEAD_LETTER_RETENTION == timedelta(days=14)
