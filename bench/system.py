"""The whole local system over HTTP: from the order to its mail, when idle and when many order at once."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any

import psycopg

from bench.environment import BenchEnvironment, Effort
from bench.figure import Figure, at_least, at_most
from bench.rounds import percentile
from bench.shop import PLENTY, set_stock
from emulator.gateway.tokens import TokenIssuer
from emulator.loopback.ports import free_port
from local.customer import Customer
from local.settings import ROOT
from local.state import StateFolder
from local.tokens import token_issuer

_ONE_BY_ONE = 30
_AT_ONCE = 500
_BUYERS = 16
_WARM_UP = 48
_TIMEOUT_S = 240.0
_CREATED = 201


class Shop:
    """The running system, and customers with filled carts."""

    def __init__(self, port: int, tokens: TokenIssuer, skus: list[str], database: psycopg.Connection) -> None:
        self._database = database
        self._url = f"http://127.0.0.1:{port}"
        self._tokens = tokens
        self._skus = skus
        self.visitor = Customer(self._url)

    def customer(self, number: int) -> Customer:
        """Return a new customer with one product in the cart."""
        token = self._tokens.issue(f"buyer-{number}@example.com", expires_in=timedelta(hours=1))
        client = Customer(self._url, token)
        answer = client.put_in_cart(self._skus[number % len(self._skus)], 1)
        if answer.status >= 400:
            raise RuntimeError(f"filling a cart was answered {answer.status}")
        return client

    def mails(self) -> list[dict[str, Any]]:
        mails: list[dict[str, Any]] = self.visitor.get("/_local/mails").body
        return mails

    def await_mail(self, order_number: str) -> datetime:
        """Return when the newest mail was sent, which must be about this order."""
        deadline = time.monotonic() + _TIMEOUT_S
        while time.monotonic() < deadline:
            for mail in islice(self.mails(), 3):
                if order_number in mail["subject"]:
                    return datetime.fromisoformat(mail["sent_at"])
            time.sleep(0.02)
        raise RuntimeError(f"order {order_number} got no mail")

    def await_mails(self, count: int) -> None:
        """Wait until so many mails are sent; asked of the database, for reading a mailbox is work."""
        deadline = time.monotonic() + _TIMEOUT_S
        while time.monotonic() < deadline:
            row = self._database.execute("SELECT count(*) FROM order_notifications").fetchone()
            if row is not None and row[0] >= count:
                return
            time.sleep(0.1)
        raise RuntimeError("not every order got its mail in time")


def measure(bench: BenchEnvironment, effort: Effort) -> Iterator[Figure]:  # noqa: ARG001  it has a server of its own
    """Orders one after the other, each waiting for its mail; then all at once until the last mail."""
    one_by_one, at_once = effort.times(_ONE_BY_ONE), effort.times(_AT_ONCE)
    with _system() as shop:
        waits = []
        for number in range(one_by_one + 1):
            client = shop.customer(number)
            ordered = datetime.now(UTC)
            waits.append((shop.await_mail(_order(client)) - ordered).total_seconds() * 1000)
        warm = waits[1:]
        yield Figure("system.idle", "order to its mail when idle, p50", warm, unit="ms", aim=at_most(50))
        yield Figure("system.idle-max", "order to its mail when idle, longest", [max(warm)], unit="ms")

        first = one_by_one + 1
        customers = [shop.customer(first + number) for number in range(_WARM_UP + at_once)]
        with ThreadPoolExecutor(_BUYERS) as buyers:
            # As many containers as the API has are started by the first that order at once.
            list(buyers.map(_order, customers[:_WARM_UP]))
            shop.await_mails(first + _WARM_UP)
            began = datetime.now(UTC)
            started = time.monotonic()
            answers = list(buyers.map(_timed_order, customers[_WARM_UP:]))
        ordered_s = time.monotonic() - started
        shop.await_mails(first + _WARM_UP + at_once)
        last = max(datetime.fromisoformat(mail["sent_at"]) for mail in shop.mails())
        yield Figure(
            "system.orders",
            f"{at_once} orders at once by {_BUYERS} buyers, each a new customer, containers warm: answered per second",
            [at_once / ordered_s],
            unit="per s",
            aim=at_least(100),
        )
        yield Figure(
            "system.answer-p99",
            "the answer to such an order, p99",
            [percentile(answers, 99)],
            unit="ms",
            aim=at_most(400),
            parts={"p50 (ms)": percentile(answers, 50)},
        )
        yield Figure(
            "system.burst",
            f"{at_once} orders at once by {_BUYERS} buyers, until the last mail",
            [(last - began).total_seconds()],
            unit="s",
        )


@contextlib.contextmanager
def _system() -> Iterator[Shop]:
    port = free_port()
    state = StateFolder.of_port(port)
    process = subprocess.Popen(
        [sys.executable, "-m", "local", "run"],
        cwd=ROOT,
        env={"PATH": os.environ.get("PATH", os.defpath), "PORT": str(port)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        _until_started(process, lambda: _is_healthy(port) and state.running() and state.known_secrets())
        running, secrets = state.running(), state.known_secrets()
        assert running is not None
        assert secrets is not None
        with psycopg.connect(running.database_url) as conn:
            set_stock(conn, PLENTY)
            skus = [row[0] for row in conn.execute("SELECT sku FROM products ORDER BY sku")]
            conn.commit()
            conn.autocommit = True
            yield Shop(port, token_issuer(secrets.signing_key), skus, conn)
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(timeout=60)
        finally:
            process.kill()
            shutil.rmtree(state.folder, ignore_errors=True)


def _until_started(process: subprocess.Popen[bytes], started: Callable[[], object]) -> None:
    """Return once the system answers and has said where it runs, which it does a moment later."""
    deadline = time.monotonic() + _TIMEOUT_S
    while not started():
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError("the local system did not start")
        time.sleep(0.1)


def _is_healthy(port: int) -> bool:
    with contextlib.suppress(OSError):
        return Customer(f"http://127.0.0.1:{port}").get("/health").status == 200
    return False


def _order(client: Customer) -> str:
    answer = client.order(str(uuid.uuid4()))
    if answer.status != _CREATED:
        raise RuntimeError(f"a checkout was answered {answer.status}")
    return str(answer.body["order_number"])


def _timed_order(client: Customer) -> float:
    started = time.monotonic()
    _order(client)
    return (time.monotonic() - started) * 1000
