"""The states of a job: what the code names, what the table allows, and which moves are legal."""

import re
from uuid import uuid4

import psycopg
import pytest
from psycopg import Connection, errors

from skincare.jobs.models import JobState

MOVES = {
    JobState.PENDING: {JobState.QUEUED, JobState.PROCESSING, JobState.DEAD_LETTER, JobState.CANCELLED},
    JobState.QUEUED: {JobState.PROCESSING, JobState.DEAD_LETTER, JobState.CANCELLED},
    JobState.RETRY_WAITING: {JobState.PROCESSING, JobState.DEAD_LETTER, JobState.CANCELLED},
    JobState.PROCESSING: set(JobState) - {JobState.PENDING, JobState.PROCESSING},
    JobState.COMPLETED: set(),
    JobState.DEAD_LETTER: {JobState.PENDING, JobState.PROCESSING, JobState.CANCELLED},
    JobState.CANCELLED: {JobState.PENDING},
}
FITTING = """
    publish_at = CASE WHEN %(state)s IN ('completed', 'cancelled') THEN NULL ELSE now() END,
    lease_token = CASE %(state)s WHEN 'processing' THEN gen_random_uuid() END,
    leased_at = CASE %(state)s WHEN 'processing' THEN now() END,
    lease_until = CASE %(state)s WHEN 'processing' THEN now() END"""


def job_in(conn: Connection, state: JobState) -> object:
    job_id = uuid4()
    live = state in {JobState.COMPLETED, JobState.CANCELLED}
    leased = state is JobState.PROCESSING
    conn.execute(
        "INSERT INTO jobs (id, job_type, queue, payload, state, publish_at, lease_token, leased_at, lease_until)"
        " VALUES (%s, 'sample', 'notifications', '{}', %s, %s, %s, %s, %s)",
        [job_id, state, None if live else "now", *([uuid4(), "now", "now"] if leased else [None] * 3)],
    )
    return job_id


class TestTheStates:
    def test_are_those_that_the_table_allows(self, owner_url: str) -> None:
        with psycopg.connect(owner_url) as owner:
            row = owner.execute(
                "SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conname = 'jobs_state_check'"
            ).fetchone()
        assert row is not None
        assert set(re.findall(r"'(\w+)'::text", row[0])) == set(JobState)

    @pytest.mark.parametrize("state", JobState)
    def test_move_as_the_life_cycle_says(self, conn: Connection, state: JobState) -> None:
        allowed = set()
        for to in set(JobState) - {state}:
            job_id = job_in(conn, state)
            try:
                conn.execute(
                    f"UPDATE jobs SET state = %(state)s, {FITTING} WHERE id = %(id)s".encode(),
                    {"state": str(to), "id": job_id},
                )
                allowed.add(to)
            except errors.CheckViolation:
                continue
        assert allowed == MOVES[state]

    def test_of_the_living_and_the_waiting(self) -> None:
        assert {state for state in JobState if not state.is_live} == {
            JobState.COMPLETED,
            JobState.DEAD_LETTER,
            JobState.CANCELLED,
        }
        assert {state for state in JobState if state.is_live and not state.is_waiting} == {JobState.PROCESSING}
