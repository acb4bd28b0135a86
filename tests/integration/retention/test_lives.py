"""Rows live, end and come back, clocks jump and processes die: only what has had its time is ever removed."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import psycopg
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from skincare.database.connection import Database, StaticCredentials
from skincare.retention import repository
from skincare.retention.policy import REMOVED, RULES
from skincare.retention.service import prune
from tests.support.ended import KINDS, Kind
from tests.support.randomness import Times
from tests.support.retention import let_years_pass, prune_all

KEPT = {rule.what: rule.kept for rule in RULES if rule.kept is not None}
TABLES = (
    "orders, payment_events, jobs, job_attempts, idempotency_keys, carts, products, quarantined_messages,"
    " reconciliation_findings, reconciliation_runs, job_schedule, job_keys, dead_jobs"
)


@dataclass
class Life:
    """A row, how long ago it ended (None while somebody needs it), and how long ago it came to be."""

    kind: Kind
    name: Any
    ended: timedelta | None = None
    begun: timedelta = timedelta(0)

    @property
    def had(self) -> timedelta | None:
        """How much of its time is over; None while somebody needs it."""
        return self.begun if self.kind.since_beginning and self.ended is not None else self.ended


class Lives(RuleBasedStateMachine):
    """Rules are what services and people do, what time does, and steps of any number of runs."""

    database_url = ""
    owner_url = ""

    @initialize()
    def start(self) -> None:
        self.conn = psycopg.connect(self.database_url, autocommit=True)
        self.owner = psycopg.connect(self.owner_url, autocommit=True)
        self.owner.execute(f"TRUNCATE {TABLES} CASCADE".encode())
        self.database = Database(StaticCredentials(self.database_url))
        self.lives: list[Life] = []

    def teardown(self) -> None:
        if not hasattr(self, "lives"):
            return
        try:
            self.clock_jumps(max(KEPT.values()) - timedelta(days=1))
            prune_all(self.database)
            self.check(all_done=True)
        finally:
            self.database.close()
            self.conn.close()
            self.owner.close()

    @rule(kind=st.sampled_from(list(KINDS.values())))
    def begins(self, kind: Kind) -> None:
        self.lives.append(Life(kind, kind.make(self.conn), None if kind.end else timedelta(0)))

    @precondition(lambda self: any(life.ended is None for life in self.lives))
    @rule(data=st.data())
    def ends(self, data: st.DataObject) -> None:
        life = data.draw(st.sampled_from([life for life in self.lives if life.ended is None]))
        if life.kind.end is not None:
            life.kind.end(self.conn, life.name)
        life.ended = timedelta(0)

    @precondition(lambda self: any(life.ended is not None and life.kind.back for life in self.lives))
    @rule(data=st.data())
    def comes_back(self, data: st.DataObject) -> None:
        ended = [life for life in self.lives if life.ended is not None and life.kind.back]
        life = data.draw(st.sampled_from(ended))
        assert life.kind.back is not None
        life.kind.back(self.conn, life.name)
        # A cart that is changed is needed until it is old again; all others until they end again.
        life.ended = None if life.kind.end else timedelta(0)

    @rule(time=st.sampled_from([timedelta(days=days) for days in (-400, -2, 1, 29, 89, 91, 179, 364, 541)]))
    def clock_jumps(self, time: timedelta) -> None:
        let_years_pass(self.owner, time)
        for life in self.lives:
            life.begun += time
            if life.ended is not None:
                life.ended += time

    @rule(step_rows=st.integers(1, 4), steps=st.integers(1, 20))
    def a_run(self, step_rows: int, steps: int) -> None:
        prune(self.database, time_left=lambda: timedelta(minutes=1), step_rows=step_rows, steps=steps, within_s=60)
        self.check()

    @rule(function=st.sampled_from([function for _, function in REMOVED]), limit=st.integers(1, 4))
    def a_run_dies_before_its_step_commits(self, function: str, limit: int) -> None:
        with psycopg.connect(self.database_url) as dying:
            repository.prune(dying, function, limit=limit, after=None)
            dying.rollback()

    @rule(function=st.sampled_from([function for _, function in REMOVED]), limit=st.integers(1, 4))
    def another_run_is_in_the_middle_of_a_step(self, function: str, limit: int) -> None:
        with psycopg.connect(self.database_url) as other:
            repository.prune(other, function, limit=limit, after=None)
            prune_all(self.database)
            other.commit()
        self.check()

    def check(self, *, all_done: bool = False) -> None:
        """Whoever is needed, or not old enough, is there; what went may be forgotten here as well."""
        gone = [life for life in self.lives if not life.kind.is_there(self.conn, life.name)]
        for life in gone:
            assert life.had is not None, life
            assert life.had >= KEPT[life.kind.what], life
        self.lives = [life for life in self.lives if life not in gone]
        if all_done:
            assert [life for life in self.lives if life.had and life.had > KEPT[life.kind.what]] == []
        orphans = self.conn.execute("SELECT count(*) FROM job_attempts a WHERE a.job_id NOT IN (SELECT id FROM jobs)")
        assert orphans.fetchone() == (0,)
        missing = self.conn.execute("""
            SELECT count(*) FROM jobs j
            WHERE j.attempts > (SELECT count(*) FROM job_attempts a WHERE a.job_id = j.id)""")
        assert missing.fetchone() == (0,)


def test_only_what_has_had_its_time_is_ever_removed(database_url: str, owner_url: str, times: Times) -> None:
    Lives.database_url, Lives.owner_url = database_url, owner_url
    run_state_machine_as_test(
        Lives,
        settings=settings(
            max_examples=times(short=15, long=400),
            stateful_step_count=25,
            suppress_health_check=list(HealthCheck),
            deadline=None,
        ),
    )
