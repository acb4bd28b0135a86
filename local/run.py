"""`make run` and `make api`: the system in the foreground of a terminal."""

import time
import uuid
from datetime import timedelta

from emulator.processes.stopping import until_stopped
from local.settings import LocalSettings
from local.state import StateFolder, shown
from local.system import System
from local.terminal import log_book
from local.tokens import token_issuer

_TOKEN_LIFE = timedelta(hours=24)


def run(settings: LocalSettings, *, with_workers: bool) -> int:
    """Start, tell what is up, and stop at a signal; returns the exit code: 1 where a part was lost."""
    state = StateFolder.of_port(settings.port)
    log = log_book(state.logs)
    system = System(state, log=log, with_workers=with_workers, say=log.say, payment_gateway=settings.payment_gateway)
    started = time.monotonic()
    lost = ""
    with until_stopped():
        system.start(reset=settings.reset)
        log.say(_welcome(state, system.url, seconds=time.monotonic() - started, with_workers=with_workers))
        lost = system.wait_for_loss()
    command = f"PORT={state.port} make {'run' if with_workers else 'api'}"
    log.say(f"{lost}: stopping. `{command}` continues with the same data." if lost else "Stopping.")
    system.stop()
    return 1 if lost else 0


def _welcome(state: StateFolder, url: str, *, seconds: float, with_workers: bool) -> str:
    token = token_issuer(state.secrets().signing_key).issue("ani@example.com", name="Ani", expires_in=_TOKEN_LIFE)
    call = f"curl -sS -H 'Authorization: Bearer {token}' -H 'Content-Type: application/json'"
    workers = (
        "Workers    one for each queue: payments, notifications, documents"
        if with_workers
        else f"Workers    none here: start them in another terminal with `PORT={state.port} make worker`"
    )
    return f"""
The shop is up after {seconds:.1f} s.

Page       {url}/_local/
API        {url}
{workers}
State      {shown(state.folder)} (logs in {shown(state.logs)})

Place an order: paste these two lines into a shell.

{call} -X PUT {url}/v1/cart/items/SERUM-NIA-30 -d '{{"quantity": 1}}'
{call} -X POST {url}/v1/orders -H "Idempotency-Key: $(date +%s)-{uuid.uuid4().hex[:8]}" -d '{{}}'

See the mail:      curl -sS {url}/_local/mails
See the products:  curl -sS {url}/v1/products
Make a token:      PORT={state.port} .venv/bin/skincare token --email ani@example.com
See the jobs:      PORT={state.port} .venv/bin/skincare jobs list

Ctrl-C stops everything.
"""
