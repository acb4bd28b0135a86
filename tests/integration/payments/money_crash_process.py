"""A process that is killed at a named point while money moves.

Everything in it is real but the gateway, which is a file: what it did is not taken back by any crash.
"""

import json
import os
import signal
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from skincare.adapters.sqs import SqsQueue
from skincare.app import App
from skincare.jobs.publisher import Publisher
from skincare.jobs.repository import lease, timers
from skincare.payments import repository as payments
from skincare.payments import service
from skincare.payments.expiry import repository as expiry
from skincare.payments.expiry import service as expiry_service
from skincare.payments.models import Attempt, Closing, EventStatus, Refund, Report
from skincare.payments.refunds import repository as refunds
from skincare.payments.unknown_statuses import repository as unknown_statuses
from tests.fakes.gateway_client import report_of
from tests.support import crash_process
from tests.support.payments import take_in
from worker.handlers import process_payment

NAME = "standard_webhooks"


class FileGateway:
    """A gateway that keeps in a file what it is asked for; it knows of a payment where the file PAID exists."""

    name = NAME

    def __init__(self, folder: Path) -> None:
        self._refunds = folder / "refunds"
        self._paid = folder / "paid"

    def start(self, attempt: Attempt) -> str:
        raise NotImplementedError

    def transactions(self, attempt: Attempt, transaction_ids: Collection[str] = ()) -> Sequence[Report]:
        return [report_of(attempt.reference, "one", EventStatus.PAID)] if self._paid.exists() else []

    def close(self, attempt: Attempt, transaction_ids: Collection[str] = ()) -> Closing:
        return Closing.PAID if self._paid.exists() else Closing.CLOSED

    def refund(self, refund: Refund) -> None:
        with self._refunds.open("a") as file:
            file.write(json.dumps([refund.key, refund.amount_rupiah]) + "\n")


POINTS: dict[str, tuple[str, Any, str]] = {
    "signature checked": ("take in", service, "_verified"),
    "event stored": ("take in", payments, "store"),
    "event enqueued": ("take in", SqsQueue, "enqueue"),
    "event published": ("take in", Publisher, "publish_now"),
    "event found": ("apply", payments, "find_event"),
    "order locked": ("apply", payments, "lock_order"),
    "event marked": ("apply", payments, "mark_applied"),
    "order saved": ("apply", payments, "save"),
    "refunds booked": ("apply", refunds, "book"),
    "unknown words looked at": ("apply", unknown_statuses, "set_aside"),
    "timer called off": ("apply", timers, "cancel"),
    "applied": ("apply", process_payment, "apply_event"),
    "apply settled": ("apply", lease, "settle"),
    "order in question": ("expire", expiry, "load"),
    "gateway asked": ("expire", FileGateway, "transactions"),
    "answers kept": ("expire", expiry_service, "keep"),
    "closed at the gateway": ("expire", FileGateway, "close"),
    "closing marked": ("expire", expiry, "mark_checked"),
    "expired": ("expire", expiry, "expire"),
    "expiry settled": ("expire", lease, "settle"),
    "gateway asked, and it is paid": ("paid after all", FileGateway, "transactions"),
    "answers kept, and it is paid": ("paid after all", expiry_service, "keep"),
    "answer's job settled": ("paid after all", lease, "settle"),
    "refund loaded": ("refund", refunds, "find"),
    "refund sent": ("refund", FileGateway, "refund"),
    "refund marked": ("refund", refunds, "mark_sent"),
    "refund settled": ("refund", lease, "settle"),
}
"""Point → what is going on, and after which call the process dies."""


def make_app(environ: dict[str, str]) -> App:
    """Wire an App around the environment's database, queue and gateway."""
    return replace(crash_process.make_app(environ), gateways={NAME: FileGateway(Path(environ["GATEWAY_FOLDER"]))})


def main(point: str) -> None:
    """Take in a webhook about ORDER_NUMBER, or work on one batch, until the point."""
    scene, owner, name = POINTS[point]
    original: Callable[..., Any] = getattr(owner, name)

    def dying(*args: Any, **kwargs: Any) -> None:
        original(*args, **kwargs)
        os.kill(os.getpid(), signal.SIGKILL)

    setattr(owner, name, dying)
    app = make_app(dict(os.environ))
    if scene == "take in":
        take_in(app, order_number=os.environ["ORDER_NUMBER"], transaction_id="one")
    else:
        crash_process.work_once(app)
