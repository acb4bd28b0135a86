"""moto takes shorter ways, and they lead to the same place."""

from typing import Any

import pytest
from moto.sqs import models
from moto.sqs.models import Message, Queue, SQSBackend

from emulator.aws import fast_paths
from emulator.aws.fast_paths import Dispatcher

ACCOUNT, REGION = "000000000000", "ap-southeast-3"
WAITING = 20


@pytest.fixture
def backend() -> SQSBackend:
    fast_paths.install()
    backend = SQSBackend(REGION, ACCOUNT)
    backend.create_queue("jobs")
    for number in range(WAITING):
        backend.send_message("jobs", f"job {number}", message_attributes={"n": {"DataType": "String"}})
    return backend


class TestAQueue:
    def test_is_not_counted_for_each_message(self, backend: SQSBackend, monkeypatch: pytest.MonkeyPatch) -> None:
        counted: list[Queue] = []

        def count(queue: Queue) -> dict[str, Any]:
            counted.append(queue)
            return {}

        monkeypatch.setattr(fast_paths, "_all_attributes", count)
        backend.send_message("jobs", "one more")
        assert len(backend.receive_message("jobs", 10, 0, 30)) == 10
        assert counted == []

    def test_has_the_attributes_that_moto_works_out(self, backend: SQSBackend) -> None:
        backend.receive_message("jobs", 3, 0, 30)
        found = backend.get_queue_attributes("jobs", ["All"])
        assert dict(found) == fast_paths._all_attributes(backend.get_queue("jobs"))
        assert found["ApproximateNumberOfMessages"] == WAITING - 3
        assert found["ApproximateNumberOfMessagesNotVisible"] == 3
        only = backend.get_queue_attributes("jobs", ["VisibilityTimeout"])
        assert dict(only) == {"VisibilityTimeout": 30}

    def test_hands_out_what_is_visible_and_not_delayed(self, backend: SQSBackend) -> None:
        backend.send_message("jobs", "later", delay_seconds=60)
        taken = backend.receive_message("jobs", 10, 0, 30)
        queue = backend.get_queue("jobs")
        left = {message.body for message in queue.messages}
        assert left == {f"job {number}" for number in range(WAITING)} - {message.body for message in taken}

    def test_keeps_no_message_longer_than_its_retention(self, backend: SQSBackend) -> None:
        queue: Any = backend.get_queue("jobs")
        queue.message_retention_period = 60
        for message in queue._messages:
            message.sent_timestamp -= 61_000
        assert backend.receive_message("jobs", 10, 0, 30) == []

    def test_forgets_a_message_by_any_of_its_handles(self, backend: SQSBackend) -> None:
        (first,) = backend.receive_message("jobs", 1, 0, 0)
        (again,) = [each for each in backend.receive_message("jobs", 10, 0, 30) if each.id == first.id]
        assert again.receipt_handle != first.receipt_handle
        backend.delete_message("jobs", str(first.receipt_handle))
        assert first.id not in {message.id for message in backend.get_queue("jobs")._messages}


def test_what_a_receive_filters_stays_with_the_message(backend: SQSBackend) -> None:
    (taken,) = backend.receive_message("jobs", 1, 0, 30, message_attribute_names=[])
    stored: Message = next(each for each in backend.get_queue("jobs")._messages if each.id == taken.id)
    assert (taken.message_attributes, list(stored.message_attributes)) == ({}, ["n"])


def test_a_host_is_looked_up_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def modules() -> list[str]:
        asked.append("modules")
        return ["sqs"]

    monkeypatch.setattr("moto.backends.list_of_moto_modules", modules)
    dispatcher = Dispatcher()
    for _ in range(3):
        assert dispatcher.get_backend_for_host(f"sqs.{REGION}.amazonaws.com") == "sqs"
    assert asked == ["modules"]


def test_moto_reads_the_clock_as_before(backend: SQSBackend) -> None:
    assert abs(models.unix_time_millis() - models.unix_time() * 1000) < 5000  # type: ignore[attr-defined]
    assert backend.queues
