"""Looking everything through, piece by piece, for as long as there is time."""

import time
from collections.abc import Callable

from skincare.database.connection import Connection, Database
from skincare.payments.findings import repository
from skincare.payments.findings.models import PIECE, Piece, Place, Run

type _Look = Callable[[Connection, Place | None, int], Piece]


def _events(conn: Connection, after: Place | None, limit: int) -> Piece:  # noqa: ARG001  few enough for one statement
    return repository.of_events(conn)


def _orders(conn: Connection, after: Place | None, limit: int) -> Piece:
    return repository.of_orders(conn, after, limit=limit)


def _payments(conn: Connection, after: Place | None, limit: int) -> Piece:
    return repository.of_payments(conn, after, limit=limit)


_LOOKS: tuple[_Look, ...] = (_events, _orders, _payments)


def look_through(database: Database, *, within_s: float, piece: int = PIECE) -> tuple[bool, int]:
    """Go on with the reconciliation that is under way, or begin one; return whether it is finished, and what is new.

    Each piece is a short statement of its own, and what it found is kept before the next one begins: whoever calls
    again goes on there, and two at once share the work. At least one piece is looked through.
    """
    deadline = time.monotonic() + within_s
    new = 0
    with database.connection() as conn:
        run = repository.open_run(conn)
        while run.step < len(_LOOKS):
            seen = _LOOKS[run.step](conn, run.after, piece)
            new += repository.save(conn, seen.findings)
            step = run.step if seen.ends_at is not None else run.step + 1
            if repository.go_on(conn, run, step=step, after=seen.ends_at):
                run = Run(run.id, step, seen.ends_at)
            elif (elsewhere := repository.find_run(conn, run.id)) is not None:
                run = elsewhere
            else:
                return True, new
            if time.monotonic() > deadline and run.step < len(_LOOKS):
                return False, new
        repository.finish(conn, run)
    return True, new
