import json
import os
import time
from dataclasses import asdict
from pathlib import Path

import pytest

from emulator.processes.children import ProcessIdentity, this_process
from local.workers import queues_without_worker
from skincare.deployment.queues import QueueName

ALL = list(QueueName)


@pytest.fixture
def presence(tmp_path: Path) -> Path:
    return tmp_path / "workers.json"


def show(presence: Path, *ready: QueueName, process: ProcessIdentity | None = None) -> None:
    presence.write_text(json.dumps({"process": asdict(process or this_process()), "ready": ready}))


class TestThePresenceOfWorkers:
    def test_nobody_is_there_at_first(self, presence: Path) -> None:
        assert queues_without_worker(presence) == ALL

    def test_a_queue_whose_consumer_is_ready_has_one(self, presence: Path) -> None:
        show(presence, QueueName.PAYMENTS, QueueName.DOCUMENTS)
        assert queues_without_worker(presence) == [
            queue for queue in ALL if queue not in {QueueName.PAYMENTS, QueueName.DOCUMENTS}
        ]

    def test_a_worker_that_was_killed_is_not_there(self, presence: Path) -> None:
        show(presence, *ALL, process=ProcessIdentity(os.getpid(), "at another time"))
        assert queues_without_worker(presence) == ALL

    def test_a_worker_that_shows_no_sign_of_life_is_not_there(self, presence: Path) -> None:
        show(presence, *ALL)
        assert queues_without_worker(presence) == []
        long_ago = time.time() - 60
        os.utime(presence, (long_ago, long_ago))
        assert queues_without_worker(presence) == ALL

    @pytest.mark.parametrize("text", ["", "[]", "{}", '{"process": {}, "ready": []}'])
    def test_a_damaged_note_means_that_nobody_is_there(self, presence: Path, text: str) -> None:
        presence.write_text(text)
        assert queues_without_worker(presence) == ALL
