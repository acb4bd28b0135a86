"""Removing what has had its time, in short steps: whoever dies between two of them has lost nothing."""

import time
from collections import Counter, deque
from datetime import timedelta

from skincare.database.connection import Database, DatabaseUnavailable, StatementTooLong
from skincare.errors import TransientError
from skincare.jobs.retry import TimeLeft
from skincare.observability import describe, logger
from skincare.retention import repository
from skincare.retention.models import KeptRows, Pruned, RetentionState
from skincare.retention.policy import REMOVED, RULES, Rule

STEP_ROWS = 500
"""Rows that one step looks at: some milliseconds."""
STEPS = 100
WITHIN_S = 5.0
SHARE = timedelta(seconds=WITHIN_S)
"""What whoever runs before leaves to it, so that rows go however much else there is to do."""
_ENOUGH_TIME = timedelta(seconds=10)
_DAY = timedelta(days=1)


def prune(
    database: Database,
    *,
    time_left: TimeLeft,
    step_rows: int = STEP_ROWS,
    steps: int = STEPS,
    within_s: float = WITHIN_S,
) -> Pruned | None:
    """Remove what has had its time, a step of each rule in turn, until nothing is left or the run has had its share.

    What fails for one table is logged and told as lag, and the others go on. Several runs at once pass over each
    other's rows. None where there was no time to begin. Raises `DatabaseUnavailable`.
    """
    if time_left() <= _ENOUGH_TIME:
        return None
    deadline = time.monotonic() + within_s
    removed = Counter[str]()
    turns = deque[tuple[Rule, str, str | None]]((rule, function, None) for rule, function in REMOVED)
    failed: list[Rule] = []
    while turns and steps > 0 and time.monotonic() < deadline and time_left() > _ENOUGH_TIME:
        rule, function, after = turns.popleft()
        steps -= 1
        try:
            with database.connection() as conn:
                step = repository.prune(conn, function, limit=step_rows, after=after)
        except Exception as error:  # one table must not keep the others from theirs
            if isinstance(error, DatabaseUnavailable) and not isinstance(error, StatementTooLong):
                raise
            log = logger.warning if isinstance(error, TransientError) else logger.error
            log("retention.failed", what=rule.what, error=describe(error))
            failed.append(rule)
            continue
        removed[rule.what] += step.removed
        if step.next is not None:
            turns.append((rule, function, step.next))
    left = [*failed, *(rule for rule, _, _ in turns)]
    lag_s = _lag_s(database, left)
    if removed.total() or left:
        rows = {what: count for what, count in removed.items() if count}
        logger.info("retention.pruned", removed=rows, lag_s=int(lag_s))
    return Pruned({rule.what: removed[rule.what] for rule, _ in REMOVED}, lag_s)


def _lag_s(database: Database, rules: list[Rule]) -> float:
    if not rules:
        return 0.0
    with database.connection() as conn:
        return max(0.0, *(repository.due(conn, rule).overdue_s for rule in rules))


def retention_state(database: Database) -> RetentionState:
    """Return what is kept how long, since when there are rows, and how many have had their time."""
    with database.connection() as conn:
        rows = repository.estimated_rows(conn)
        found = []
        for rule in RULES:
            due = repository.due(conn, rule) if rule.removed_by else None
            found.append(
                KeptRows(
                    what=rule.what,
                    kept_days=None if rule.kept is None else rule.kept // _DAY,
                    since=rule.since,
                    why=rule.why,
                    rows=rows.get(rule.table),
                    oldest=repository.oldest(conn, rule),
                    due=None if due is None else due.rows,
                    oldest_due=None if due is None else due.ended_at,
                )
            )
    return RetentionState(tuple(found))
