"""Reconciliations under way, and where each of them stands."""

from datetime import timedelta
from typing import Any

from psycopg import Connection

from skincare.payments.findings.models import Place, Run

_STALE = timedelta(hours=12)


def open_run(conn: Connection) -> Run:
    """Return the run that is under way, or begin one; one that nobody went on with for hours begins anew."""
    row = conn.execute(
        """
        INSERT INTO reconciliation_runs AS r DEFAULT VALUES
        ON CONFLICT ((true)) WHERE finished_at IS NULL DO UPDATE SET
            started_at = CASE WHEN r.started_at < now() - %(stale)s THEN now() ELSE r.started_at END,
            step = CASE WHEN r.started_at < now() - %(stale)s THEN 0 ELSE r.step END,
            after_at = CASE WHEN r.started_at < now() - %(stale)s THEN NULL ELSE r.after_at END,
            after_id = CASE WHEN r.started_at < now() - %(stale)s THEN NULL ELSE r.after_id END
        RETURNING id, step, after_at, after_id""",
        {"stale": _STALE},
    ).fetchone()
    assert row is not None  # noqa: S101  an upsert without a condition answers a row
    return _run(row)


def find_run(conn: Connection, run_id: int) -> Run | None:
    """Return where a run stands, None where it is finished."""
    row = conn.execute(
        "SELECT id, step, after_at, after_id FROM reconciliation_runs WHERE id = %(id)s AND finished_at IS NULL",
        {"id": run_id},
    ).fetchone()
    return None if row is None else _run(row)


def go_on(conn: Connection, run: Run, *, step: int, after: Place | None) -> bool:
    """Note where a run stands now; False where somebody else has brought it on since."""
    return (
        conn.execute(
            """
            UPDATE reconciliation_runs SET step = %(step)s, after_at = %(at)s, after_id = %(after_id)s
            WHERE id = %(id)s AND finished_at IS NULL AND step = %(was)s
                AND (after_at, after_id) IS NOT DISTINCT FROM (%(was_at)s::timestamptz, %(was_id)s::bigint)""",
            {
                "id": run.id,
                "step": step,
                "at": after and after.at,
                "after_id": after and after.id,
                "was": run.step,
                "was_at": run.after and run.after.at,
                "was_id": run.after and run.after.id,
            },
        ).rowcount
        == 1
    )


def finish(conn: Connection, run: Run) -> None:
    """End a run: what it did not see any more is gone."""
    conn.execute(
        """
        WITH ended AS (
            UPDATE reconciliation_runs SET finished_at = now() WHERE id = %(id)s AND finished_at IS NULL
            RETURNING started_at
        )
        UPDATE reconciliation_findings f SET gone_at = now() FROM ended e
        WHERE f.gone_at IS NULL AND f.last_seen_at < e.started_at""",
        {"id": run.id},
    )


def _run(row: tuple[Any, ...]) -> Run:
    return Run(row[0], row[1], None if row[2] is None else Place(row[2], row[3]))
