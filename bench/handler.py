"""A warm API handler: what parsing, routing, checking, logging and answering cost beside the statement itself."""

import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from statistics import median
from typing import Any, cast

from aws_lambda_powertools.utilities.typing import LambdaContext

from api.app import handle
from bench.environment import BenchEnvironment, Effort
from bench.figure import Figure, at_most
from bench.rounds import alternate_us, ratios
from bench.shop import bare_checkout, fill_carts, open_shop, settle_down, user
from bench.shopfront import Context, SilentPublisher, checkout_event, environment, logs_discarded, make_app
from bench.stub_sqs import stub_sqs
from skincare.app import App
from skincare.database.session import Session
from skincare.identifiers import UserId

_CREATED = 201


def measure(bench: BenchEnvironment, effort: Effort) -> Iterator[Figure]:
    """The handler with its log line over the statement alone; and the same with the message sent after the commit."""
    times = effort.times(300)
    with (
        bench.database() as database,
        stub_sqs() as aws,
        Session.open(database.url) as conn,
        logs_discarded(),
    ):
        os.environ |= {name: value for name, value in environment("", aws).items() if name.startswith("AWS_")}
        open_shop(database.owner)
        publishing = make_app(database.url, aws)
        silent = replace(publishing, publisher=SilentPublisher())
        ways: Mapping[str, Callable[[UserId], None]] = {
            "bare SQL": bare_checkout(conn),
            "handler": partial(_handle, silent),
            "handler and SQS": partial(_handle, publishing),
        }
        for way in ways:
            fill_carts(database.owner, way, clients=effort.rounds + 1, each=times)
        settle_down(database.owner)
        wall: dict[str, list[float]] = {way: [] for way in ways}
        cpu: dict[str, list[float]] = {way: [] for way in ways}
        for turn in range(effort.rounds + 1):
            spent = dict.fromkeys(ways, 0.0)
            calls = [
                partial(_next, check_out, iter(range(1, times + 1)), way, turn, spent)
                for way, check_out in ways.items()
            ]
            values = alternate_us(calls, times=times)
            if turn == 0:
                continue  # first calls import and connect
            for way, value in zip(ways, values, strict=True):
                wall[way].append(value)
                cpu[way].append(spent[way] / times)
        publishing.database.close()
        parts = {f"{way} (µs)": median(values) for way, values in wall.items()}
        yield Figure(
            "handler.warm",
            "warm API handler ÷ bare SQL call, the same checkout",
            ratios(wall["handler"], wall["bare SQL"]),
            aim=at_most(1.25),
            parts=parts,
        )
        yield Figure(
            "handler.warm-cpu",
            "CPU time of the same calls, without the database's",
            ratios(cpu["handler"], cpu["bare SQL"]),
            parts={f"{way} (CPU µs)": median(values) for way, values in cpu.items()},
        )
        yield Figure(
            "handler.publish",
            "the same handler with its message sent to SQS after the commit ÷ without",
            ratios(wall["handler and SQS"], wall["handler"]),
        )


def _handle(app: App, user_id: UserId) -> None:
    answer: dict[str, Any] = handle(checkout_event(user_id), cast(LambdaContext, Context()), lambda: app)
    if answer["statusCode"] != _CREATED:
        raise RuntimeError(f"the checkout was answered {answer['statusCode']}")


def _next(
    check_out: Callable[[UserId], None], numbers: Iterator[int], way: str, turn: int, spent: dict[str, float]
) -> None:
    user_id = user(way, turn, next(numbers))
    started = time.thread_time_ns()
    check_out(user_id)
    spent[way] += (time.thread_time_ns() - started) / 1000
