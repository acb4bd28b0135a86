"""Looking everything through, piece by piece, for as long as there is time."""

import time
from collections.abc import Callable
from typing import NamedTuple

from skincare.database.connection import Connection, Database
from skincare.jobs.repository import outbox
from skincare.observability import logger
from skincare.payments.findings.models import OWED, PIECE, PIECE_OF_PRODUCTS, Owed, Piece, Place, Run
from skincare.payments.findings.repository import findings, looks, runs

type _Look = Callable[[Connection, Place | None, int], Piece]


def _events(conn: Connection, after: Place | None, limit: int) -> Piece:  # noqa: ARG001  few enough for one statement
    return looks.of_events(conn)


def _orders(conn: Connection, after: Place | None, limit: int) -> Piece:
    return looks.of_orders(conn, after, limit=limit)


def _payments(conn: Connection, after: Place | None, limit: int) -> Piece:
    return looks.of_payments(conn, after, limit=limit)


def _stock(conn: Connection, after: Place | None, limit: int) -> Piece:
    return looks.of_stock(conn, after, limit=min(limit, PIECE_OF_PRODUCTS))


_LOOKS: tuple[_Look, ...] = (_events, _orders, _payments, _stock)


class Looked(NamedTuple):
    """Whether all was looked through, how many findings are new, and which owed jobs were enqueued."""

    finished: bool
    new: int
    enqueued: tuple[Owed, ...]


def look_through(database: Database, *, within_s: float, piece: int = PIECE) -> Looked:
    """Go on with the reconciliation that is under way, or begin one.

    Each piece is a short statement of its own, and what it found is kept before the next one begins: whoever calls
    again goes on there, and two at once share the work. At least one piece is looked through.
    """
    deadline = time.monotonic() + within_s
    new, enqueued = 0, list[Owed]()
    with database.connection() as conn:
        run = runs.open_run(conn)
        while run.step < len(_LOOKS):
            seen = _LOOKS[run.step](conn, run.after, piece)
            enqueued += [owed for owed in seen.owed if _enqueue(conn, owed)]
            new += findings.save(conn, seen.findings)
            step = run.step if seen.ends_at is not None else run.step + 1
            if runs.go_on(conn, run, step=step, after=seen.ends_at):
                run = Run(run.id, step, seen.ends_at)
            elif (elsewhere := runs.find_run(conn, run.id)) is not None:
                run = elsewhere
            else:
                return Looked(finished=True, new=new, enqueued=tuple(enqueued))
            if time.monotonic() > deadline and run.step < len(_LOOKS):
                return Looked(finished=False, new=new, enqueued=tuple(enqueued))
        runs.finish(conn, run)
    return Looked(finished=True, new=new, enqueued=tuple(enqueued))


def _enqueue(conn: Connection, owed: Owed) -> bool:
    """Enqueue an owed job, unless one was enqueued and is not finished; return whether it was."""
    payload = OWED[owed.job_type](order_number=owed.order_number)
    key = f"{owed.job_type}:{owed.order_number}"
    enqueued = outbox.insert_for_relay(conn, payload, unique_key=key, order_number=owed.order_number)
    if enqueued:
        logger.warning("reconciliation.job_missing", kind=owed.job_type, order_number=owed.order_number)
    return enqueued
