"""The numbers of every queue fit together; what they become on AWS is looked at in tests/infra/test_queues.py."""

import pytest

from skincare.deployment.queues import QueueName
from skincare.jobs.worker.lease_session import RESERVE


@pytest.mark.parametrize("queue", QueueName)
class TestAQueue:
    def test_fits_a_full_batch_of_slow_handlers_and_one_suspect_into_one_invocation(self, queue: QueueName) -> None:
        limits = queue.limits
        waves = -(-limits.batch_size // limits.threads)
        assert (waves + 1) * limits.handler_limit + 2 * RESERVE <= limits.function_timeout

    def test_lends_a_container_no_more_connections_than_it_has_threads(self, queue: QueueName) -> None:
        assert 1 <= queue.limits.database_connections <= queue.limits.threads
