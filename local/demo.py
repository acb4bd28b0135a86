"""`make demo`: several customers order at once, and each order is followed to its mail."""

import contextlib
import shutil
import socket
import sys
import time
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

from emulator.gateway.tokens import TokenIssuer
from emulator.log.logbook import LogBook
from emulator.loopback.client import Answer
from emulator.processes.stopping import until_stopped
from emulator.settings import LOOPBACK
from local.customer import Customer
from local.errors import LocalSystemError
from local.settings import ROOT
from local.state import StateFolder
from local.system import System
from local.timeline import Timeline
from local.tokens import token_issuer

_MAIL_TIMEOUT_S = 30.0


class DemoFailed(LocalSystemError):
    """The shop did something else than it should; the message says what."""


def demo() -> int:
    """Run the demonstration on a free port and an empty state; returns the exit code."""
    _remove_old_states()
    with socket.create_server((LOOPBACK, 0)) as probe:
        port = probe.getsockname()[1]
    state = StateFolder(ROOT / ".local" / f"demo-{port}", port=port)
    log = LogBook(state.logs, None)
    system = System(state, log=log, with_workers=True)
    finished = False
    try:
        with until_stopped():
            _say("Starting the shop on a free port with an empty database.")
            started = time.monotonic()
            system.start()
            _say(f"The shop is up after {time.monotonic() - started:.1f} s.\n")
            _Demonstration(system.url, token_issuer(state.secrets().signing_key)).run()
            finished = True
    finally:
        system.stop()
        shutil.rmtree(state.folder, ignore_errors=True)
    _say("Everything is stopped." if finished else "Interrupted; everything is stopped.")
    return 0 if finished else 1


class _Demonstration:
    """The customers, what they do and what must come of it."""

    def __init__(self, url: str, tokens: TokenIssuer) -> None:
        self._url = url
        self._tokens = tokens
        self._timeline = Timeline()
        self._placed: dict[str, tuple[str, datetime]] = {}

    def run(self) -> None:
        """Raises `DemoFailed`."""
        scenes: list[Callable[[], None]] = [
            lambda: self._buys("buyer-1", [("SERUM-NIA-30", 2), ("SUN-SPF50-50", 1)]),
            lambda: self._buys("buyer-2", [("MOIST-CERA-50", 1)], locale="en"),
            self._clicks_twice,
            self._finds_no_stock,
            self._sends_nonsense,
        ]
        try:
            with ThreadPoolExecutor(max_workers=len(scenes)) as customers:
                for scene in [customers.submit(scene) for scene in scenes]:
                    scene.result()
            self._await_mails()
        finally:
            _say(self._timeline.text())
        orders = len(self._placed)
        _say(f"{orders} orders, {orders} mails: each customer got one confirmation.")

    def _buys(self, who: str, items: list[tuple[str, int]], *, locale: str = "id") -> None:
        client = self._customer(who, items, locale=locale)
        self._check_placed(who, self._noted(who, "orders", lambda: client.order(_key())))

    def _clicks_twice(self) -> None:
        who, key = "double-click", _key()
        client = self._customer(who, [("LIP-BALM-10", 3)])
        with ThreadPoolExecutor(max_workers=2) as clicks:
            both = [
                clicks.submit(self._noted, who, f"orders, click {number}", lambda: client.order(key))
                for number in (1, 2)
            ]
        answers = [click.result() for click in both]
        placed = [answer for answer in answers if answer.status == 201]
        for answer in placed:
            self._check_placed(who, answer)
        numbers = {answer.body["order_number"] for answer in placed}
        # A second click may also learn that the first is still at work.
        if len(numbers) != 1 or any(answer.status not in {201, 409} for answer in answers):
            raise DemoFailed(f"Two clicks made {len(numbers)} orders: {[answer.status for answer in answers]}.")

    def _finds_no_stock(self) -> None:
        who = "too-late"
        client = self._customer(who, [("SET-LEBARAN-4", 2)])
        answer = self._noted(who, "orders 2 where 1 is left", lambda: client.order(_key()))
        _expect(who, answer, 409, "out_of_stock")

    def _sends_nonsense(self) -> None:
        who = "broken-app"
        client = self._customer(who, [("GEL-ALOE-200", 1)])
        answer = self._noted(who, "sends half a JSON body", lambda: client.order(_key(), b'{"note": '))
        _expect(who, answer, 400, "request_malformed")

    def _customer(self, who: str, items: list[tuple[str, int]], *, locale: str = "id") -> Customer:
        token = self._tokens.issue(f"{who}@example.com", locale=locale, expires_in=timedelta(minutes=10))
        client = Customer(self._url, token)
        for sku, quantity in items:
            answer = self._noted(who, f"puts {quantity} x {sku} in the cart", _put(client, sku, quantity))
            _expect(who, answer, 200)
        return client

    def _noted(self, who: str, what: str, call: Callable[[], Answer]) -> Answer:
        """Make a call and write it into the timeline."""
        answer = call()
        self._timeline.add(datetime.now(UTC), who, what, _result(answer))
        return answer

    def _check_placed(self, who: str, answer: Answer) -> None:
        _expect(who, answer, 201)
        self._placed.setdefault(answer.body["order_number"], (who, datetime.now(UTC)))

    def _await_mails(self) -> None:
        visitor = Customer(self._url)
        deadline = time.monotonic() + _MAIL_TIMEOUT_S
        mails: list[dict[str, Any]] = []
        while time.monotonic() < deadline:
            mails = visitor.get("/_local/mails").body
            if len(mails) >= len(self._placed):
                break
            time.sleep(0.05)
        for number, (who, placed_at) in self._placed.items():
            about = [mail for mail in mails if number in mail["subject"]]
            for mail in about:
                sent_at = datetime.fromisoformat(mail["sent_at"])
                late = (sent_at - placed_at).total_seconds() * 1000
                self._timeline.add(sent_at, who, f"gets the mail {mail['subject']!r}", f"{late:+.0f} ms after the 201")
            if len(about) != 1 or about[0]["to"] != f"{who}@example.com":
                raise DemoFailed(f"Order {number} has {len(about)} mails.")


def _put(client: Customer, sku: str, quantity: int) -> Callable[[], Answer]:
    return lambda: client.put_in_cart(sku, quantity)


def _expect(who: str, answer: Answer, status: int, code: str | None = None) -> None:
    if answer.status != status or (code and answer.body.get("code") != code):
        raise DemoFailed(f"{who} got {answer.status} {answer.body} instead of {status} {code or ''}.")


def _result(answer: Answer) -> str:
    detail = answer.body.get("order_number") or answer.body.get("code") or ""
    return f"{answer.status} {detail:<18} {answer.seconds * 1000:5.0f} ms"


def _key() -> str:
    return str(uuid.uuid4())


def _remove_old_states() -> None:
    """Remove what a killed demonstration left; one that still runs holds its lock."""
    for folder in (ROOT / ".local").glob("demo-*"):
        with contextlib.suppress(LocalSystemError), StateFolder(folder, port=0).hold("run.lock", "in use"):
            shutil.rmtree(folder, ignore_errors=True)


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()
