"""A worker that is hit by what is switched on: real containers, and the ledger that says who has which job."""

import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import psycopg
import pytest
from psycopg import Connection

from emulator.functions.function import FunctionStopped
from emulator.log.logbook import LogBook
from emulator.switches import Switches
from local.chaos import Switch
from local.faulty_invoker import FaultyInvoker, Poison
from local.repository import take_away
from skincare.jobs.envelope import Envelope
from skincare.jobs.repository import lease
from skincare.jobs.retry import Completed
from tests.support.ledger import claim_one, enqueue, new_token, row
from tests.support.local_system import TIMEOUT, pids_of, pool_of, sample, wait_for


def batch(*job_ids: object) -> bytes:
    """Return the event of a batch."""
    bodies = [Envelope(job_id, "send_confirmation_email", {}).encode() for job_id in job_ids]  # type: ignore[arg-type]
    return json.dumps({"Records": [{"body": body} for body in (*bodies, "of a stranger")]}).encode()


@pytest.fixture
def switches(tmp_path: Path) -> Switches:
    return Switches(tmp_path / "switches")


@pytest.fixture
def log(tmp_path: Path) -> Iterator[LogBook]:
    log = LogBook(tmp_path / "logs", None)
    yield log
    log.close()


class TestAPoisonedJob:
    def test_takes_its_worker_down_and_its_batch_may_come_again_at_once(
        self, conn: Connection, database_url: str, switches: Switches, log: LogBook, tmp_path: Path
    ) -> None:
        poisoned, neighbour = enqueue(conn), enqueue(conn)
        for job in (poisoned, neighbour):
            claim_one(conn, job.job_id)
        switches.turn(Switch.POISON_JOB, on=True)
        with pool_of(sample("samples.hold"), tmp_path) as pool:
            worker = FaultyInvoker(pool, switches=switches, poison=Poison(database_url, switches), log=log)
            pool.start()
            wait_for(lambda: pids_of(pool), "a container")
            [pid] = pids_of(pool)
            with pytest.raises(FunctionStopped):
                worker.invoke(batch(poisoned.job_id, neighbour.job_id), timeout=TIMEOUT)
            wait_for(lambda: pids_of(pool) not in ([], [pid]), "another container")
        ended = conn.execute("SELECT count(*) FROM jobs WHERE state = 'processing' AND lease_until <= now()").fetchone()
        assert ended == (2,)

    def test_is_the_first_that_comes_until_the_switch_is_turned_again(
        self, database_url: str, switches: Switches
    ) -> None:
        poison = Poison(database_url, switches)
        assert poison.among(["a"]) is None
        switches.turn(Switch.POISON_JOB, on=True)
        assert poison.among([]) is None
        assert poison.among(["b", "c"]) == "b"
        assert poison.among(["c"]) is None
        assert poison.among(["c", "b"]) == "b"
        poison.killed()
        poison.missed()
        assert poison.among(["b"]) == "b"
        # Turned on again before anybody looked.
        switches.turn(Switch.POISON_JOB, on=False)
        switches.turn(Switch.POISON_JOB, on=True)
        assert poison.among(["c", "b"]) == "c"

    def test_that_was_done_too_fast_leaves_its_poison_to_the_next(
        self, conn: Connection, database_url: str, switches: Switches, log: LogBook, tmp_path: Path
    ) -> None:
        job = enqueue(conn)
        switches.turn(Switch.POISON_JOB, on=True)
        poison = Poison(database_url, switches)
        with pool_of(sample("samples.echo"), tmp_path) as pool:
            worker = FaultyInvoker(pool, switches=switches, poison=poison, log=log)
            assert json.loads(worker.invoke(batch(job.job_id), timeout=TIMEOUT))["pid"] > 0
        assert poison.among(["next"]) == "next"

    def test_is_not_settled_by_a_worker_that_was_about_to(self, conn: Connection, database_url: str) -> None:
        for _ in range(20):
            job, token = enqueue(conn), new_token()
            with ThreadPoolExecutor(1) as pool, psycopg.connect(database_url) as ledger:
                taken = pool.submit(take_away, ledger, str(job.job_id), longest_s=20)
                claim_one(conn, job.job_id, token=token)
                assert taken.result()
                ledger.commit()
            assert not lease.settle(conn, {job.job_id: Completed()}, token=token)
            assert row(conn, job.job_id)["state"] == "processing"


class TestADuplicateDelivery:
    def test_hands_a_batch_to_two_containers_at_once(
        self, database_url: str, switches: Switches, log: LogBook, tmp_path: Path
    ) -> None:
        arrived = tmp_path / "arrived"
        arrived.mkdir()
        event = json.dumps({"arrive_in": str(arrived), "leave_by": str(tmp_path / "leave")}).encode()
        answers: list[bytes] = []
        with pool_of(sample("samples.obey"), tmp_path, concurrency=2) as pool:
            worker = FaultyInvoker(pool, switches=switches, poison=Poison(database_url, switches), log=log)
            switches.turn(Switch.DUPLICATE_DELIVERY, on=True)
            thread = threading.Thread(
                target=lambda: answers.append(worker.invoke(event, timeout=timedelta(seconds=30)))
            )
            thread.start()
            wait_for(lambda: len(list(arrived.iterdir())) == 2, "both containers")
            (tmp_path / "leave").touch()
            thread.join(timeout=30)
        assert len(answers) == 1
