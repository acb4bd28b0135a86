"""Clients that check out at the same time, each a process with one connection, as Lambda functions are."""

import multiprocessing
import time
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection as Pipe
from typing import Any, Self

from bench.checkouts import CHECKOUTS
from bench.rounds import Stalled
from bench.service import ignoring_interrupts
from bench.shop import user
from skincare.database.session import Session
from skincare.orders.errors import CheckoutRefused

_TIMEOUT_S = 60.0
"""How long one checkout may take: sixteen clients wait for one row, and the machine may have other work."""

_ROUND_WITHIN_S = 300.0


@dataclass(frozen=True)
class Shopping:
    """What each client does: `each` checkouts of the carts `prefix-client-1…`, in the way that `how` names."""

    url: str
    how: str
    prefix: str
    each: int
    scarce: bool = False
    """Whether checkouts may be refused; elsewhere a refusal is quick, and would count as a fast checkout."""


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


@dataclass(frozen=True)
class _Ready:
    """A client has its connection and waits for the others."""


@dataclass(frozen=True)
class _Done:
    """What one client did, in seconds of the monotonic clock, which is one for all processes of a machine."""

    started: float
    ended: float
    placed: int
    refused: int
    latencies_ms: Sequence[float]


@dataclass(frozen=True)
class _Failed:
    reason: str


class Clients:
    """A number of client processes that live through all rounds."""

    def __init__(self, number: int) -> None:
        self._number = number
        self._pipes: list[Pipe] = []
        self._processes: list[Any] = []

    def __enter__(self) -> Self:
        self._start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()

    def shop(self, shopping: Shopping, *, clients: int | None = None, within_s: float = _ROUND_WITHIN_S) -> Outcome:
        """Let the first `clients` of them shop at the same time.

        Raises `Stalled` where one fails or is not done in time: all are then replaced, and the next round is whole.
        Raises `RuntimeError` where a checkout is refused that may not be.
        """
        pipes = self._pipes[: clients or self._number]
        deadline = time.monotonic() + within_s
        try:
            for pipe in pipes:
                pipe.send(shopping)
            for pipe in pipes:
                _hear(pipe, _Ready, deadline)
            for pipe in pipes:
                pipe.send("go")
            done = [_hear(pipe, _Done, deadline) for pipe in pipes]
        except (Stalled, OSError) as reason:
            self._stop()
            self._start()
            raise Stalled(f"a client of {shopping.prefix} {reason}") from None
        placed, refused = sum(each.placed for each in done), sum(each.refused for each in done)
        if refused and not shopping.scarce:
            raise RuntimeError(f"{refused} of {placed + refused} checkouts were refused")
        return Outcome(
            placed=placed,
            refused=refused,
            seconds=max(each.ended for each in done) - min(each.started for each in done),
            latencies_ms=[latency for each in done for latency in each.latencies_ms],
        )

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        for client in range(self._number):
            ours, theirs = context.Pipe()
            process = context.Process(target=_client, args=(client, theirs), daemon=True)
            with ignoring_interrupts():
                process.start()
            theirs.close()
            self._pipes.append(ours)
            self._processes.append(process)

    def _stop(self) -> None:
        for pipe in self._pipes:
            pipe.close()
        for process in self._processes:
            process.kill()
            process.join()
        self._pipes, self._processes = [], []


def _hear[T](pipe: Pipe, wanted: type[T], deadline: float) -> T:
    """Return a client's next answer; raises `Stalled` where it is another one or does not come."""
    try:
        if not pipe.poll(max(deadline - time.monotonic(), 0)):
            raise Stalled("was not done in time")
        answer = pipe.recv()
    except (EOFError, OSError):
        raise Stalled("ended") from None
    if not isinstance(answer, wanted):
        raise Stalled(answer.reason if isinstance(answer, _Failed) else f"answered {answer!r}")
    return answer


def _client(number: int, parent: Pipe) -> None:
    sessions: dict[str, Session] = {}
    while True:
        try:
            shopping: Shopping = parent.recv()
        except EOFError:
            return
        try:
            if shopping.url not in sessions:
                sessions[shopping.url] = Session.open(shopping.url)
            parent.send(_Ready())
            parent.recv()
            parent.send(_shop(sessions[shopping.url], number, shopping))
        # Whatever it is, the other clients and the measurement's next rounds go on.
        except Exception as error:  # noqa: BLE001
            parent.send(_Failed(f"failed: {type(error).__name__}: {str(error).partition('\n')[0]}"))


def _shop(session: Session, number: int, shopping: Shopping) -> _Done:
    check_out = CHECKOUTS[shopping.how]
    users = [user(shopping.prefix, number, each) for each in range(1, shopping.each + 1)]
    latencies, refused = [], 0
    started = time.monotonic()
    with session.with_timeout(_TIMEOUT_S):
        for user_id in users:
            before = time.monotonic()
            try:
                check_out(session, user_id)
            except CheckoutRefused:
                refused += 1
            latencies.append((time.monotonic() - before) * 1000)
    return _Done(started, time.monotonic(), len(users) - refused, refused, latencies)
