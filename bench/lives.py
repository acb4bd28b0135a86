"""What the tables of jobs are like after millions of lives with retention on: sizes, claims, an old transaction.

Time is scaled: a day is a number of lives, and jobs are kept for two days. The functions are the real ones. Their
window is set anew before each removal, and what a clock would have brought (due rows of the schedule, autovacuum) is
done after each of a day's parts. Lives are driven inside the server, in batches, each step in a transaction of its own.
"""

import sys
from collections.abc import Iterator
from datetime import datetime
from time import perf_counter
from typing import LiteralString

import psycopg
from psycopg import Connection
from psycopg.sql import SQL, Literal

from bench.environment import BenchDatabase, BenchEnvironment, Effort
from bench.figure import Figure, at_least, at_most
from bench.rounds import interleave, percentile, ratios
from bench.server_cost import never_vacuumed
from bench.shop import settle_down
from skincare.database.session import Session
from skincare.deployment.queues import QueueName
from skincare.jobs.repository import outbox
from skincare.retention import repository as retention

_DAYS, _PARTS, _KEPT_DAYS = 20, 5, 2
_BATCH = 100
FEWEST_LIVES = _DAYS * _PARTS * _BATCH
_STEP = 10_000
"""Lives of one statement: it ends long before the role's time limit."""
_FEW = 10_000
"""Rows of the table that claims are compared with."""
_CLAIMS = 2000
_TABLES: tuple[LiteralString, ...] = ("jobs", "job_attempts", "job_schedule", "job_keys")

_LIVE: LiteralString = """
DO $$
DECLARE
    v_token uuid;
    v_ids uuid[];
    v_publish_ats timestamptz[];
    v_settled bigint;
BEGIN
    FOR batch IN 1 .. {batches} LOOP
        SELECT array_agg(e.id), array_agg(e.publish_at) INTO v_ids, v_publish_ats FROM enqueue_jobs(
            ARRAY(SELECT uuidv7() FROM generate_series(1, {size})), array_fill('sample'::text, ARRAY[{size}]),
            array_fill({queue}::text, ARRAY[{size}]),
            array_fill('{{"order_number": "SKN-00000-00000"}}'::jsonb, ARRAY[{size}]),
            array_fill(NULL::timestamptz, ARRAY[{size}]), array_fill(NULL::text, ARRAY[{size}]),
            'SKN-00000-00000', 'bench', NULL
        ) e;
        COMMIT;
        PERFORM mark_jobs_published(v_ids, v_publish_ats);
        COMMIT;
        v_token := gen_random_uuid();
        PERFORM claim_jobs(
            v_ids, array_fill(NULL::integer, ARRAY[{size}]), v_token, '5 minutes', false, 3, NULL
        );
        COMMIT;
        SELECT count(*) INTO v_settled FROM settle_jobs(v_token, v_ids, '{{}}', '{{}}', '{{}}', '{{}}', '{{}}');
        COMMIT;
        IF v_settled <> {size} THEN
            RAISE EXCEPTION '% of {size} jobs were settled', v_settled;
        END IF;
    END LOOP;
END
$$"""


def measure(bench: BenchEnvironment, effort: Effort) -> Iterator[Figure]:
    """Live through all days, then compare with the third day, with a small table, and with an old transaction."""
    part = max(effort.lives // FEWEST_LIVES, 1) * _BATCH
    with bench.database() as grown, Session.open(grown.url) as conn:
        never_vacuumed(grown.owner)
        settle_down(grown.owner)
        lives = part * _PARTS * _DAYS
        yield _sizes(_days(grown, conn, part=part), lives=lives)
        # A database gives the role another password: sessions that are open do not mind.
        with bench.database() as small, Session.open(small.url) as few:
            never_vacuumed(small.owner)
            settle_down(small.owner)
            live(few, _FEW)
            _what_a_clock_brings(small)
            yield _claims(few, conn, lives=lives, times=effort.times(_CLAIMS))
        yield _old_transaction(grown, conn, lives=max(part, 1000), rounds=effort.rounds)


def live(conn: Connection, lives: int) -> None:
    """Take so many jobs, a multiple of 100, through a life without trouble; no transaction may be open."""
    for done in range(0, lives, _STEP):
        batches = min(lives - done, _STEP) // _BATCH
        conn.execute(
            SQL(_LIVE).format(
                batches=Literal(batches), size=Literal(_BATCH), queue=Literal(QueueName.NOTIFICATIONS.value)
            )
        )


def keep_since(owner: Connection, moment: datetime) -> None:
    """Let retention keep what ended after a moment, and nothing else."""
    owner.execute(
        SQL("CREATE OR REPLACE FUNCTION kept_for(what text) RETURNS interval LANGUAGE sql IMMUTABLE PARALLEL SAFE "
            "RETURN make_interval(secs => {})").format(Literal(_seconds_since(owner, moment)))
    )  # fmt: skip


def remove_expired(conn: Connection) -> int:
    """Remove jobs as retention does, step by step; return how many."""
    removed = 0
    after: str | None = None
    while True:
        step = retention.prune(conn, "prune_jobs", limit=1000, after=after)
        removed, after = removed + step.removed, step.next
        if after is None:
            return removed


def size(owner: Connection) -> int:
    """Return the bytes of all tables of jobs, with their indexes."""
    row = owner.execute(
        "SELECT sum(pg_total_relation_size(t::regclass))::bigint FROM unnest(%(tables)s::text[]) t",
        {"tables": list(_TABLES)},
    ).fetchone()
    assert row is not None
    return int(row[0])


def _days(database: BenchDatabase, conn: Connection, *, part: int) -> list[int]:
    """Return the size at the end of each day."""
    began: list[datetime] = []
    sizes: list[int] = []
    for day in range(1, _DAYS + 1):
        started = perf_counter()
        for _ in range(_PARTS):
            began.append(_now(database.owner))
            live(conn, part)
            if len(began) > _KEPT_DAYS * _PARTS:
                keep_since(database.owner, began[-_KEPT_DAYS * _PARTS])
                remove_expired(conn)
            _what_a_clock_brings(database)
        sizes.append(size(database.owner))
        rate = part * _PARTS / (perf_counter() - started)
        print(f"day {day} of {_DAYS}: {sizes[-1] / 2**20:.1f} MiB, {rate:.0f} lives/s", file=sys.stderr, flush=True)
    return sizes


def _what_a_clock_brings(database: BenchDatabase) -> None:
    """Let the rows of the schedule be due and met, and vacuum, as two minutes and autovacuum would."""
    database.owner.execute("UPDATE job_schedule SET look_at = look_at - interval '1 hour'")
    while outbox.tidy_schedule(database.owner, limit=1000):
        pass
    for table in _TABLES:
        database.owner.execute(SQL("VACUUM (ANALYZE) {}").format(SQL(table)))


def _sizes(sizes: list[int], *, lives: int) -> Figure:
    return Figure(
        "lives.size",
        f"size of the tables of jobs after {lives:,} lives with retention on, last day ÷ third of {_DAYS}",
        ratios([sizes[-1]], [sizes[_KEPT_DAYS]]),
        aim=at_most(1.05),
        parts={"third day (MiB)": sizes[_KEPT_DAYS] / 2**20, "last day (MiB)": sizes[-1] / 2**20},
    )


def _claims(few: Connection, grown: Connection, *, lives: int, times: int) -> Figure:
    """Claims of one job each, in turns: a busy moment meets both tables."""
    taken: dict[str, list[float]] = {"few": [], "grown": []}
    tables = {"few": few, "grown": grown}
    for number in range(times):
        for name in tables if number % 2 == 0 else reversed(tables):
            taken[name].append(_claim_us(tables[name]))
    p99 = {name: percentile(values, 99) for name, values in taken.items()}
    p50 = {name: percentile(values, 50) for name, values in taken.items()}
    return Figure(
        "lives.claim",
        f"p99 of a claim after {lives:,} lives ÷ at {_FEW:,} rows",
        ratios([p99["grown"]], [p99["few"]]),
        aim=at_most(1.10),
        parts={
            "afterwards (µs)": p99["grown"],
            "few rows (µs)": p99["few"],
            "p50 afterwards (µs)": p50["grown"],
            "p50 few rows (µs)": p50["few"],
        },
    )


def _claim_us(conn: Connection) -> float:
    row = conn.execute(
        """
        SELECT e.id FROM enqueue_jobs(
            ARRAY[uuidv7()], ARRAY['sample'], ARRAY[%(queue)s], ARRAY['{}'::jsonb], ARRAY[NULL::timestamptz],
            ARRAY[NULL::text], 'SKN-00000-00000', 'bench', NULL
        ) e""",
        {"queue": QueueName.NOTIFICATIONS.value},
    ).fetchone()
    assert row is not None
    started = perf_counter()
    claimed = conn.execute(
        """
        SELECT c.verdict FROM claim_jobs(
            ARRAY[%(id)s::uuid], ARRAY[NULL::integer], gen_random_uuid(), '5 minutes', false, 3, NULL
        ) c""",
        {"id": row[0]},
    ).fetchone()
    took = (perf_counter() - started) * 1_000_000
    if claimed != ("run",):
        raise RuntimeError(f"a job that waits was not claimed but {claimed}")
    return took


def _old_transaction(database: BenchDatabase, conn: Connection, *, lives: int, rounds: int) -> Figure:
    def rate() -> float:
        started = perf_counter()
        live(conn, lives)
        return lives / (perf_counter() - started)

    def without() -> float:
        _what_a_clock_brings(database)
        return rate()

    def held() -> float:
        _what_a_clock_brings(database)
        with psycopg.connect(database.owner_url) as old:
            old.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            old.execute("SELECT count(*) FROM (SELECT FROM jobs LIMIT 1) j")
            live(conn, lives)  # what is dead by now stays
            return rate()

    measured = interleave({"without": without, "held": held}, rounds=rounds)
    return Figure(
        "lives.old-transaction",
        "lives completed per second with an old transaction left open ÷ without",
        ratios(measured["held"], measured["without"]),
        aim=at_least(0.9),
        parts={f"{name} (per s)": percentile(values, 50) for name, values in measured.items()},
    )


def _now(owner: Connection) -> datetime:
    row = owner.execute("SELECT clock_timestamp()").fetchone()
    assert row is not None
    moment: datetime = row[0]
    return moment


def _seconds_since(owner: Connection, moment: datetime) -> float:
    return (_now(owner) - moment).total_seconds()
