"""How much CPU a new process takes until its first checkout is committed, under AWS's runtime interface client."""

import json
import os
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from statistics import median
from typing import Any
from uuid import UUID

from bench.environment import BenchDatabase, BenchEnvironment, Effort, NotMeasured
from bench.figure import Figure, at_most
from bench.process_start import TASKS, Start, start_process
from bench.rounds import interleave, ratios
from bench.shop import Statement, checkout_statement, fill_carts, mail_jobs, open_shop, place, settle_down, user
from bench.shopfront import checkout_event
from bench.stub_sqs import stub_sqs
from emulator.functions.function import FunctionDefinition
from local.functions import LocalEnvironment as Functions
from local.settings import ROOT
from skincare.deployment.queues import QueueName
from skincare.identifiers import UserId

# A commit announces itself, so that the process is looked at in that moment.
_ANNOUNCE = """
    CREATE FUNCTION announce() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        PERFORM pg_notify('committed', '');
        RETURN NULL;
    END $$;
    CREATE TRIGGER announce AFTER INSERT ON orders FOR EACH ROW EXECUTE FUNCTION announce();
    CREATE TRIGGER announce AFTER INSERT ON order_notifications FOR EACH ROW EXECUTE FUNCTION announce();"""


@dataclass(frozen=True)
class Contender:
    """A function and the events of its rounds."""

    function: FunctionDefinition
    events: Iterator[dict[str, Any]]
    starts: list[Start] = field(default_factory=list)


def measure(bench: BenchEnvironment, effort: Effort) -> Iterator[Figure]:
    """API and worker over the floor; each round starts every process once."""
    if not Path(TASKS.format(os.getpid())).exists():
        raise NotMeasured("the CPU time of another process is read from /proc, which this system has not")
    rounds = max(effort.rounds, 3) + 1
    with bench.database() as database, stub_sqs() as aws:
        open_shop(database.owner)
        database.owner.execute(_ANNOUNCE.encode())
        contenders = _contenders(database, aws, rounds)
        settle_down(database.owner)
        database.owner.execute("LISTEN committed")
        interleave({name: _one(contender, database) for name, contender in contenders.items()}, rounds=rounds)
        # In the first round the bytecode and the files' pages may still be missing.
        starts = {name: contender.starts[1:] for name, contender in contenders.items()}
        floor = starts["floor"]
        parts = {
            f"{name} {moment} (CPU ms)": median(getattr(start, moment) for start in each)
            for name, each in starts.items()
            for moment in ("ready", "committed", "answered")
        }
        yield Figure(
            "start.api",
            "API process: CPU from exec to its first committed checkout ÷ the floor's",
            ratios([start.committed for start in starts["API"]], [start.committed for start in floor]),
            aim=at_most(1.30),
            parts=parts,
        )
        yield Figure(
            "start.worker",
            "worker process: CPU from exec to its first event ÷ the floor's",
            ratios([start.ready for start in starts["worker"]], [start.ready for start in floor]),
            aim=at_most(1.35),
        )
        yield Figure(
            "start.api-answer",
            "API process: CPU from exec to its first answer, with the message sent ÷ the floor's",
            ratios([start.answered for start in starts["API"]], [start.answered for start in floor]),
        )
        yield Figure(
            "start.worker-mail",
            "worker process: CPU from exec to its first mail marked ÷ the floor's first checkout",
            ratios([start.committed for start in starts["worker"]], [start.committed for start in floor]),
        )


def _contenders(database: BenchDatabase, aws: str, rounds: int) -> Mapping[str, Contender]:
    for name in ("floor", "api", "worker"):
        fill_carts(database.owner, name, clients=1, each=rounds)
    functions = Functions(database.url, aws)
    api, worker = functions.api(), functions.worker(QueueName.NOTIFICATIONS)
    floor = FunctionDefinition(
        name="floor",
        handler="bench.floor_function.lambda_handler",
        timeout=api.timeout,
        memory_mb=api.memory_mb,
        code=api.code,
        environment={**api.environment, "PYTHONPATH": f"{ROOT}:{api.environment['PYTHONPATH']}"},
    )
    numbers = range(1, rounds + 1)
    return {
        "floor": Contender(floor, (_floor_event(database, user("floor", 0, number)) for number in numbers)),
        "API": Contender(api, (checkout_event(user("api", 0, number)) for number in numbers)),
        "worker": Contender(worker, (_mail_event(database, user("worker", 0, number)) for number in numbers)),
    }


def _floor_event(database: BenchDatabase, user_id: UserId) -> dict[str, Any]:
    return floor_event(database.url, checkout_statement(user_id))


def floor_event(url: str, statement: Statement) -> dict[str, Any]:
    """Return the event of `floor_function`: the statement with parameters that JSON can hold."""
    parameters = {name: _as_json(value) for name, value in statement.parameters.items()}
    return {"conninfo": url, "sql": statement.sql, "parameters": parameters}


def _as_json(value: object) -> object:
    """Return what the floor function or PostgreSQL reads as the same value."""
    match value:
        case bytes():
            return value.hex()
        case timedelta():
            return f"{value.total_seconds()} seconds"
        case UUID():
            return str(value)
        case _:
            return value


def _mail_event(database: BenchDatabase, user_id: UserId) -> dict[str, Any]:
    place(database.owner, user_id)
    ((job_id, job_type, payload),) = mail_jobs(database.owner, [user_id])
    body = json.dumps({"id": str(job_id), "type": job_type, "payload": payload})
    return {
        "Records": [
            {
                "messageId": str(uuid.uuid4()),
                "receiptHandle": "receipt",
                "body": body,
                "attributes": {"ApproximateReceiveCount": "1"},
                "messageAttributes": {},
                "eventSource": "aws:sqs",
            }
        ]
    }


def _one(contender: Contender, database: BenchDatabase) -> Any:
    def start_once() -> float:
        event = next(contender.events)
        for _ in database.owner.notifies(timeout=0):
            pass  # what preparing the event committed
        contender.starts.append(start_process(contender.function, event, database.owner))
        return contender.starts[-1].committed

    return start_once
