"""Pauses: which jobs wait because a person said so, or a provider refused everything."""

from collections.abc import Collection, Sequence
from datetime import timedelta

from psycopg import Connection
from psycopg.rows import class_row

from skincare.jobs.models import Pause, PauseTarget

SYSTEM = "system"
"""Who paused a provider that refuses everything."""

_TRIAL_AFTER = timedelta(minutes=1)
_SAME_OUTAGE = timedelta(minutes=10)


def pause(
    conn: Connection,
    target: PauseTarget,
    *,
    job_types: Sequence[str] | None,
    reason: str,
    paused_by: str,
    lasts: timedelta | None,
) -> str:
    """Hold jobs back from now on, in the caller's transaction; `job_types` are those of a type or provider.

    Answers 'paused', or where they are already: 'extended' if that pause lasts longer now, else 'already_paused'.
    A pause of the system's that is extended becomes the caller's.
    """
    # One that ended by itself makes room for a new one; the time that it held jobs stays the same.
    conn.execute(
        """
        UPDATE job_pauses SET resumed_at = ends_at
        WHERE scope = %(scope)s AND name = %(name)s AND resumed_at IS NULL AND ends_at <= now()""",
        {"scope": target.scope, "name": target.name},
    )
    row = conn.execute(
        """
        INSERT INTO job_pauses AS p (scope, name, queue, job_types, reason, paused_by, ends_at)
        VALUES (
            %(scope)s, %(name)s, CASE %(scope)s::text WHEN 'queue' THEN %(name)s::text END, %(job_types)s::text[],
            %(reason)s, %(paused_by)s, coalesce(now() + %(lasts)s::interval, 'infinity')
        )
        ON CONFLICT (scope, name) WHERE resumed_at IS NULL DO UPDATE SET
            ends_at = excluded.ends_at,
            reason = CASE p.paused_by WHEN %(system)s THEN excluded.reason ELSE p.reason END,
            paused_by = CASE p.paused_by WHEN %(system)s THEN excluded.paused_by ELSE p.paused_by END
        WHERE p.ends_at < excluded.ends_at
        RETURNING xmax = 0""",
        {
            "scope": target.scope,
            "name": target.name,
            "job_types": None if job_types is None else list(job_types),
            "reason": reason,
            "paused_by": paused_by,
            "lasts": lasts,
            "system": SYSTEM,
        },
    ).fetchone()
    if row is None:
        return "already_paused"
    return "paused" if row[0] else "extended"


def hold_provider(conn: Connection, provider: str, *, job_types: Collection[str], reason: str) -> bool:
    """Hold a provider's jobs back for a minute, because it refused everything; True where they were not held before.

    Refused again within ten minutes after that, the same pause goes on, and has held the jobs in between as well.
    A pause by a person stays as it is, unless it would end sooner.
    """
    extended = conn.execute(
        """
        UPDATE job_pauses SET ends_at = greatest(ends_at, now() + %(trial_after)s)
        WHERE scope = 'provider' AND name = %(provider)s AND resumed_at IS NULL AND paused_by = %(system)s
            AND ends_at > now() - %(same_outage)s""",
        {"provider": provider, "system": SYSTEM, "trial_after": _TRIAL_AFTER, "same_outage": _SAME_OUTAGE},
    )
    if extended.rowcount:
        return False
    target = PauseTarget("provider", provider)
    types = sorted(job_types)
    return pause(conn, target, job_types=types, reason=reason, paused_by=SYSTEM, lasts=_TRIAL_AFTER) == "paused"


def resume(conn: Connection, target: PauseTarget) -> bool:
    """End a pause; False where it is not on. Other pauses that hold the same jobs stay."""
    cur = conn.execute(
        """
        UPDATE job_pauses SET resumed_at = now()
        WHERE scope = %(scope)s AND name = %(name)s AND resumed_at IS NULL AND ends_at > now()""",
        {"scope": target.scope, "name": target.name},
    )
    return cur.rowcount == 1


def active(conn: Connection) -> list[Pause]:
    """Return the pauses that are on, the oldest first, each with the due jobs that it holds."""
    cur = conn.cursor(row_factory=class_row(Pause))
    cur.execute("""
        WITH due AS (
            SELECT job_type, queue, count(*) AS jobs FROM jobs
            WHERE id = ANY (ARRAY(SELECT job_id FROM job_schedule WHERE look_at <= now())) AND publish_at <= now()
                AND state <> 'dead_letter'
            GROUP BY job_type, queue
        )
        SELECT p.scope, p.name, p.reason, p.paused_by, p.paused_at,
            CASE WHEN isfinite(p.ends_at) THEN p.ends_at END AS ends_at, (
                SELECT coalesce(sum(d.jobs), 0)::integer FROM due d
                WHERE pause_covers(p.queue, p.job_types, d.job_type, d.queue)
            ) AS held
        FROM job_pauses p WHERE p.resumed_at IS NULL AND p.ends_at > now() ORDER BY p.paused_at, p.id""")
    return cur.fetchall()


def of_job(conn: Connection, *, job_type: str, queue: str) -> list[str]:
    """Return the reasons of the pauses that hold jobs of this type and queue, with what was paused before each."""
    cur = conn.execute(
        """
        SELECT concat_ws(' ', p.scope, nullif(p.name, '')) || ': ' || p.reason FROM job_pauses p
        WHERE p.resumed_at IS NULL AND p.ends_at > now()
            AND pause_covers(p.queue, p.job_types, %(job_type)s, %(queue)s)
        ORDER BY p.paused_at, p.id""",
        {"job_type": job_type, "queue": queue},
    )
    return [row[0] for row in cur]


def names_in_use(conn: Connection, scope: str) -> set[str]:
    """Return the queues or types of unfinished jobs, also those that this release does not know."""
    column = {"queue": "queue", "type": "job_type"}[scope]
    rows = conn.execute(f"SELECT DISTINCT {column} FROM jobs WHERE id = ANY (ARRAY(SELECT job_id FROM job_schedule))")  # noqa: S608  our own names
    return {row[0] for row in rows}
