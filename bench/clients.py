"""Clients that check out at the same time, each a process with one connection, as Lambda functions are."""

import multiprocessing
import time
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection as Pipe
from typing import Any, Self

from bench.checkouts import CHECKOUTS
from bench.service import deaf_to_interrupts
from bench.shop import user
from skincare.database.session import Session
from skincare.orders.errors import CheckoutRefused


@dataclass(frozen=True)
class Shopping:
    """What each client does: `each` checkouts of the carts `prefix-client-1…`, in the way that `how` names."""

    url: str
    how: str
    prefix: str
    each: int


@dataclass(frozen=True)
class Outcome:
    """What the clients of one round did together; `latencies_ms` are of all checkouts."""

    placed: int
    refused: int
    seconds: float
    latencies_ms: Sequence[float]

    @property
    def per_s(self) -> float:
        return self.placed / self.seconds


class Clients:
    """A number of client processes that live through all rounds."""

    def __init__(self, number: int) -> None:
        self._number = number
        self._pipes: list[Pipe] = []
        self._processes: list[Any] = []

    def __enter__(self) -> Self:
        context = multiprocessing.get_context("spawn")
        for client in range(self._number):
            ours, theirs = context.Pipe()
            process = context.Process(target=_client, args=(client, theirs), daemon=True)
            with deaf_to_interrupts():
                process.start()
            self._pipes.append(ours)
            self._processes.append(process)
        return self

    def __exit__(self, *_: object) -> None:
        for pipe in self._pipes:
            pipe.close()
        for process in self._processes:
            process.join(timeout=5)
            process.kill()

    def shop(self, shopping: Shopping, *, clients: int | None = None) -> Outcome:
        """Let the first `clients` of them shop at the same time."""
        pipes = self._pipes[: clients or self._number]
        for pipe in pipes:
            pipe.send(shopping)
        for pipe in pipes:
            assert pipe.recv() == "connected"
        for pipe in pipes:
            pipe.send("go")
        answers = [pipe.recv() for pipe in pipes]
        first, last = min(answer[0] for answer in answers), max(answer[1] for answer in answers)
        return Outcome(
            placed=sum(answer[2] for answer in answers),
            refused=sum(answer[3] for answer in answers),
            seconds=last - first,
            latencies_ms=[latency for answer in answers for latency in answer[4]],
        )


def _client(number: int, parent: Pipe) -> None:
    sessions: dict[str, Session] = {}
    while True:
        try:
            shopping: Shopping = parent.recv()
        except EOFError:
            return
        if shopping.url not in sessions:
            sessions[shopping.url] = Session.open(shopping.url)
        session, check_out = sessions[shopping.url], CHECKOUTS[shopping.how]
        users = [user(shopping.prefix, number, each) for each in range(1, shopping.each + 1)]
        parent.send("connected")
        parent.recv()
        latencies, refused = [], 0
        # The monotonic clock is one for all processes of a machine.
        started = time.monotonic()
        for user_id in users:
            before = time.monotonic()
            try:
                check_out(session, user_id)
            except CheckoutRefused:
                refused += 1
            latencies.append((time.monotonic() - before) * 1000)
        parent.send((started, time.monotonic(), len(users) - refused, refused, latencies))
