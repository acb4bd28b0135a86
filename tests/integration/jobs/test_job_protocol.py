"""The whole protocol as a state machine: whatever happens in whatever order, no job is lost, revived or doubled.

The ledger is the real SQL on PostgreSQL; the queue is the one in memory with SQS's rules; processes die
between any two steps, because here they simply never take the next one.
"""

import math
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import psycopg
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    multiple,
    rule,
    run_state_machine_as_test,
)
from psycopg import Connection

from skincare.database.connection import Database, StaticCredentials
from skincare.deployment.queues import QueueName
from skincare.identifiers import JobId, LeaseToken, new_job_id
from skincare.jobs import envelope
from skincare.jobs.catalog import JobPayload
from skincare.jobs.models import DueJob, JobState, PauseTarget, Verdict
from skincare.jobs.ports import OutgoingMessage, QueuePair, ReceivedMessage
from skincare.jobs.publisher import Publisher
from skincare.jobs.relay import run_relay, sweep
from skincare.jobs.repository import dead_letter, lease, operations, outbox, timers
from skincare.jobs.retry import Completed, DeadLetter, Outcome, Retry, backoff_delay
from skincare.retention import repository as retention
from skincare.retention.policy import RULES
from skincare.retention.service import prune
from tests.fakes.queue import MemoryQueue
from tests.support import ledger
from tests.support.randomness import Times
from tests.support.retention import let_years_pass, prune_all

HELD = timedelta(seconds=50)
VISIBILITY = timedelta(seconds=270)
BUDGETS = {"sample": timedelta(hours=2)}
PAUSES = {
    PauseTarget("all"): {"sample", "other"},
    PauseTarget("queue", "notifications"): {"sample"},
    PauseTarget("type", "sample"): {"sample"},
    PauseTarget("provider", "ses"): {"sample"},
    PauseTarget("queue", "documents"): {"other"},
    PauseTarget("type", "unknown"): set(),
}
"""What can be paused, and which of the types of jobs that means."""
CLOCKS_APART_S = 60.0
KEPT_S = next(rule.kept for rule in RULES if rule.what == "jobs" and rule.kept).total_seconds()
LIVE = {state for state in JobState if state.is_live}
DEAD = {JobState.DEAD_LETTER}


@dataclass
class ClaimedBatch:
    """One invocation: its lease token, and the jobs that it is running."""

    token: LeaseToken
    running: set[JobId]
    messages: dict[JobId, ReceivedMessage]


@dataclass
class History:
    """What the outside saw of a job."""

    completed: int = 0
    cancelled: bool = False
    ended: float | None = None
    """When it was completed or cancelled, if it still is."""
    holder: LeaseToken | None = None
    """Whose claim was the last."""
    leases: list[tuple[float, float]] = field(default_factory=list)


class JobProtocol(RuleBasedStateMachine):
    """Rules are the single steps of services, relays, workers, people, SQS and time."""

    database_url = ""
    owner_url = ""
    conn: Connection

    takes: Bundle[list[DueJob]] = Bundle("takes")
    batches: Bundle[ClaimedBatch] = Bundle("shifts")

    @initialize()
    def start(self) -> None:
        self.conn = psycopg.connect(self.database_url, autocommit=True)
        with psycopg.connect(self.owner_url) as owner:
            owner.execute("DELETE FROM jobs")
        self.database = Database(StaticCredentials(self.database_url))
        self.time = 1_800_000_000.0
        self.dead_letters = MemoryQueue(retention=timedelta(days=14), now=lambda: self.time)
        self.source = MemoryQueue(
            visibility=VISIBILITY, dead_letters=self.dead_letters, max_receive_count=6, now=lambda: self.time
        )
        self.queues = dict.fromkeys(QueueName, QueuePair(self.source, self.dead_letters))
        self.publisher = Publisher(self.database, self.queues)
        self.jobs: dict[JobId, History] = {}
        self.forgotten: set[JobId] = set()
        """Jobs that retention removed."""
        self.conn.execute("UPDATE job_pauses SET resumed_at = paused_at")
        self.pauses: dict[PauseTarget, float] = {}
        """Until when each lasts."""
        self.held: list[tuple[PauseTarget, float, float]] = []
        """Pauses that ended, with their begin and end."""
        self.paused_at: dict[PauseTarget, float] = {}

    def teardown(self) -> None:
        if hasattr(self, "jobs"):
            self.come_to_rest()
            self.come_to_rest_again_years_later()
            self.database.close()
            self.conn.close()

    # --- a service enqueues; its process may die before or after each of its next steps

    @rule(
        target=takes,
        later=st.sampled_from([None, timedelta(minutes=30)]),
        payload=st.sampled_from([ledger.Sample(), ledger.Other()]),
    )
    def enqueue(self, later: timedelta | None, payload: JobPayload) -> Any:
        run_at = None
        if later:
            found = self.conn.execute("SELECT now() + %s", [later]).fetchone()
            assert found is not None
            (run_at,) = found
        job = ledger.enqueue(self.conn, payload, run_at=run_at)
        self.jobs[job.job_id] = History()
        return multiple() if later else [job]

    @rule(key=st.sampled_from(["one", "two"]), later=st.booleans())
    def set_a_timer(self, key: str, later: bool) -> None:
        """A timer is set unless an unfinished one has its key, whatever became of earlier ones."""
        taken = self._keys().count(key)
        at = self.conn.execute("SELECT now() + interval '30 minutes'").fetchone() if later else None
        job = timers.insert(
            self.conn, new_job_id(), ledger.Sample(), unique_key=key, run_at=None if at is None else at[0]
        )
        assert (job is None) == (taken == 1)
        if job is not None:
            self.jobs[job.job_id] = History()

    @rule(key=st.sampled_from(["one", "two"]))
    def call_off_a_timer(self, key: str) -> None:
        row = self.conn.execute(
            "SELECT id FROM jobs WHERE unique_key = %s AND publish_at IS NOT NULL", [key]
        ).fetchone()
        assert timers.cancel(self.conn, key) == (row is not None)
        if row is not None:
            self._cancelled(row[0])

    def _keys(self) -> list[str]:
        rows = self.conn.execute(
            "SELECT unique_key FROM jobs WHERE unique_key IS NOT NULL AND state NOT IN ('completed', 'cancelled')"
        )
        return [key for (key,) in rows]

    @rule(limit=st.sampled_from([1, 1000]))
    def relay_tidies(self, limit: int) -> None:
        outbox.tidy_schedule(self.conn, limit=limit)

    @rule(target=takes)
    def relay_takes(self) -> list[DueJob]:
        due = outbox.take_due(self.conn, limit=3)
        assert not any(self._is_held(job.job_type) for job in due if not job.dead_letter), "a paused job is published"
        return due

    @rule(take=takes)
    def send(self, take: list[DueJob]) -> None:
        """Send without marking: the process dies in between, or its mark comes later, or it sends again."""
        for job in take:
            number = job.dead_letter.dead_letter_no if job.dead_letter else None
            body = envelope.Envelope(job.job_id, job.job_type, job.payload, number).encode()
            (self.dead_letters if job.dead_letter else self.source).enqueue([OutgoingMessage(body)])

    @rule(take=consumes(takes), sqs_is_down=st.booleans())
    def send_right_after_the_commit(self, take: list[DueJob], sqs_is_down: bool) -> None:
        """Not marked, also where a relay took it and dies of it; what SQS does not take is the relay's."""
        self.source.down = self.dead_letters.down = sqs_is_down
        self.publisher.publish_now(take)
        self.source.down = self.dead_letters.down = False

    @rule(take=consumes(takes))
    def send_and_mark(self, take: list[DueJob]) -> None:
        self.publisher.publish(take)

    @rule(take=takes)
    def mark_late(self, take: list[DueJob]) -> None:
        """Only sent work is marked; that the message is gone by now is what the rescue is for."""
        known = [job.job_id for job in take if job.job_id in self.jobs]
        before = {job_id: ledger.row(self.conn, job_id)["state"] for job_id in known}
        outbox.mark_published(self.conn, take)
        for job_id, state in before.items():
            after = ledger.row(self.conn, job_id)["state"]
            assert after == ("queued" if state == "pending" and after == "queued" else state)

    # --- a worker

    @rule(target=batches, limit=st.integers(1, 3), alone=st.booleans())
    def receive_and_claim(self, limit: int, alone: bool) -> Any:
        messages = self.source.receive(limit=1 if alone else limit, wait=timedelta(0))
        wanted: dict[JobId, int | None] = {}
        by_job = {}
        for message in messages:
            read = envelope.decode(message.body)
            numbers = [number for number in (wanted.get(read.job_id), read.dead_letter_no) if number is not None]
            wanted[read.job_id] = max(numbers, default=None)
            by_job[read.job_id] = message
        if not wanted:
            return multiple()
        batch = ClaimedBatch(ledger.new_token(), set(), by_job)
        dead = self._dead_letter_numbers()
        before = {job_id: ledger.row(self.conn, job_id) for job_id in wanted if job_id in self.jobs}
        for claim in lease.claim(self.conn, wanted, token=batch.token, lease=HELD, alone=alone):
            match claim.verdict:
                case Verdict.RUN | Verdict.SUSPECT | Verdict.DEAD if self._is_held(claim.job_type):
                    raise AssertionError("a paused job was run")
                case Verdict.PAUSED:
                    assert self._is_held(claim.job_type), "a job waits that nobody paused"
                    self._waits(before[claim.job_id])
                    self.source.ack([by_job[claim.job_id]])
                case Verdict.RUN:
                    self._leased(claim.job_id, batch.token)
                    current = dead.get(claim.job_id)
                    assert current in {None, wanted[claim.job_id]}, "an old copy revived a dead job"
                    batch.running.add(claim.job_id)
                case Verdict.DONE | Verdict.DEAD:
                    self.source.ack([by_job[claim.job_id]])
                case Verdict.BUSY | Verdict.EARLY:
                    self.source.nack([(by_job[claim.job_id], claim.wait)])
                case Verdict.SUSPECT:
                    self.source.nack([(by_job[claim.job_id], timedelta(seconds=5))])
                case Verdict.MISSING:
                    assert claim.job_id in self.forgotten, "a job vanished from the ledger"
                    self.source.ack([by_job[claim.job_id]])
        return batch

    def _waits(self, before: dict[str, Any]) -> None:
        """A job that was held back is as it was, and due; one that was sent back from the dead is as new."""
        after = ledger.row(self.conn, before["id"])
        assert after["publish_at"] <= after["now"]
        if before["state"] == "dead_letter":
            assert (after["state"], after["attempts"], after["crashes"]) == ("pending", 0, 0)
        else:
            kept = ("state", "attempts", "crashes", "budget_from", "retry_at", "lease_token", "dead_letter_no")
            assert [after[name] for name in kept] == [before[name] for name in kept]

    def _leased(self, job_id: JobId, token: LeaseToken) -> None:
        history = self.jobs[job_id]
        history.holder = token
        assert not history.cancelled, "a cancelled job was run"
        assert not history.completed, "a completed job was run again"
        assert all(end <= self.time for _, end in history.leases), "two workers hold one job"
        history.leases.append((self.time, self.time + HELD.total_seconds()))

    @rule(batch=batches, outcome=st.sampled_from(["done", "busy", "dead", "handed back"]))
    def settle(self, batch: ClaimedBatch, outcome: str) -> None:
        """Settle what still runs, in time or long after; also twice, as after a lost answer."""
        if not batch.running:
            return
        chosen: dict[str, Outcome | None] = {
            "done": Completed(),
            "busy": Retry(backoff_delay(2), "TransientError", "busy"),
            "dead": DeadLetter("NoSuchOrder", "order 7 is gone"),
            "handed back": None,
        }
        hit = lease.settle(self.conn, dict.fromkeys(batch.running, chosen[outcome]), token=batch.token)
        for job_id in batch.running:
            message = batch.messages[job_id]
            if job_id in hit:
                history = self.jobs[job_id]
                assert history.holder == batch.token, "a worker settled what another one holds"
                if outcome == "done":
                    self._completed(job_id)
                start, _ = history.leases[-1]
                history.leases[-1] = (start, self.time)
            if job_id in hit and outcome in ("done", "dead"):
                self.source.ack([message])
            else:
                self.source.nack([(message, timedelta(seconds=5))])

    @rule(batch=batches, ends=st.sampled_from(["commits", "commits", "leaves", "fails", "dies"]))
    def end_together(self, batch: ClaimedBatch, ends: str) -> None:
        """A batch handler settles in the transaction of its effects: where one lease is lost, none of its jobs ends."""
        if not batch.running:
            return
        before = self._rows()
        handled = batch.running
        if ends == "leaves":
            # Those run by themselves, later or never.
            handled = set([job_id for job_id in self.jobs if job_id in batch.running][::2])
        commits = ends in {"commits", "leaves"}
        with self.conn.transaction() as transaction:
            hit = lease.settle(self.conn, dict.fromkeys(handled, Completed()), token=batch.token)
            if not commits or hit != handled:
                raise psycopg.Rollback(transaction)
        if not commits or hit != handled:
            assert self._rows() == before
            if ends == "fails":
                self.settle(batch, "busy")
            return
        for job_id in hit:
            history = self.jobs[job_id]
            assert history.holder == batch.token, "a worker settled what another one holds"
            self._completed(job_id)
            start, _ = history.leases[-1]
            history.leases[-1] = (start, self.time)
            self.source.ack([batch.messages[job_id]])

    def _completed(self, job_id: JobId) -> None:
        self.jobs[job_id].completed += 1
        self.jobs[job_id].ended = self.time

    def _rows(self) -> list[Any]:
        return self.conn.execute("SELECT * FROM jobs ORDER BY id").fetchall()

    @rule(target=takes, outcome=st.sampled_from(["done", "done", "busy", "dead", "crash"]))
    def go_fast(self, outcome: str) -> list[DueJob]:
        """A worker is faster than the mark of the service: the mark may come at any time from now on, or never."""
        return [self._run(outcome)]

    @rule(target=batches, batch=batches)
    def overtake(self, batch: ClaimedBatch) -> Any:
        """A worker is so slow that its lease runs out and somebody else gets a copy."""
        # By age and not by id: ids of one millisecond are in no order, and a run must repeat itself.
        first = next((job_id for job_id in self.jobs if job_id in batch.running), None)
        if first is None:
            return multiple()
        self.let_pass(timedelta(minutes=3))
        self.source.enqueue([OutgoingMessage(batch.messages[first].body)])
        return self.receive_and_claim(limit=1, alone=True)

    @rule()
    def die_twice(self) -> None:
        """A job dies, is redriven by a process that dies before it deletes the letter, and dies again."""
        job = self._run("dead")
        self.run_the_relay()
        if dead_letter.redrive(self.conn, [job.job_id]):
            self.send([job])
            batch = self.receive_and_claim(limit=3, alone=False)
            if isinstance(batch, ClaimedBatch):
                self.settle(batch, "dead")
            self.run_the_relay()

    def _run(self, outcome: str) -> DueJob:
        """Enqueue and send a job, and let a worker work on what it finds on the queue."""
        job = ledger.enqueue(self.conn, ledger.Sample())
        self.jobs[job.job_id] = History()
        self.send([job])
        for _ in range(3):
            batch = self.receive_and_claim(limit=3, alone=False)
            if isinstance(batch, ClaimedBatch) and outcome != "crash":
                self.settle(batch, outcome)
        return job

    # --- people

    @rule(
        target_=st.sampled_from(list(PAUSES)), lasts=st.sampled_from([None, timedelta(minutes=5), timedelta(hours=2)])
    )
    def pause(self, target_: PauseTarget, lasts: timedelta | None) -> None:
        end = self.time + lasts.total_seconds() if lasts else math.inf
        last = self.pauses.get(target_)
        outcome = ledger.pause(self.conn, target_.scope, target_.name, lasts=lasts)
        if last is None:
            assert outcome == "paused"
            self.paused_at[target_] = self.time
            self.pauses[target_] = end
        else:
            # A pause that is begun again has a later end by the real time that went by.
            assert outcome in ({"extended"} if end > last else {"already_paused", "extended"})
            self.pauses[target_] = max(last, end)

    @rule(target_=st.sampled_from(list(PAUSES)))
    def resume(self, target_: PauseTarget) -> None:
        assert ledger.resume(self.conn, target_.scope, target_.name) == (target_ in self.pauses)
        if target_ in self.pauses:
            del self.pauses[target_]
            self.held.append((target_, self.paused_at[target_], self.time))

    def _is_held(self, job_type: str) -> bool:
        return any(job_type in PAUSES[target] for target in self.pauses)

    def _held_s(self, job_type: str, since: float) -> float:
        """For how long a job was paused since a moment, second by second where pauses overlap."""
        spans = self.held + [(target, self.paused_at[target], self.time) for target in self.pauses]
        ours = sorted((max(begin, since), end) for target, begin, end in spans if job_type in PAUSES[target])
        total, reached = 0.0, since
        for begin, end in ours:
            total += max(end - max(begin, reached), 0.0)
            reached = max(reached, end)
        return total

    @rule(data=st.data())
    def redrive(self, data: st.DataObject) -> None:
        if self.jobs:
            job_id = data.draw(st.sampled_from(list(self.jobs)))
            dead_letter.redrive(self.conn, [job_id])

    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        if self.jobs:
            job_id = data.draw(st.sampled_from(list(self.jobs)))
            if operations.cancel(self.conn, [job_id]):
                self._cancelled(job_id)

    @rule(data=st.data())
    def revive(self, data: st.DataObject) -> None:
        if self.jobs:
            job_id = data.draw(st.sampled_from(list(self.jobs)))
            if operations.revive(self.conn, [job_id]):
                assert self.jobs[job_id].cancelled, "a job came back that nobody had cancelled"
                self.jobs[job_id].cancelled = False
                self.jobs[job_id].ended = None

    def _cancelled(self, job_id: JobId) -> None:
        history = self.jobs[job_id]
        history.cancelled, history.ended = True, self.time
        history.leases = [(start, min(end, self.time)) for start, end in history.leases]

    @rule(data=st.data())
    def redrive_what_was_looked_at(self, data: st.DataObject) -> None:
        """A request whose answer got lost is sent again, also long after: it redrives a death once."""
        if self.jobs:
            job_id = data.draw(st.sampled_from(list(self.jobs)))
            number = data.draw(st.integers(1, 3))
            before = ledger.row(self.conn, job_id)
            hit = dead_letter.redrive(self.conn, [job_id], only_at=[number])
            assert bool(hit) == (before["state"] in DEAD and before["dead_letter_no"] == number)

    @rule(data=st.data())
    def retry_now(self, data: st.DataObject) -> None:
        if self.jobs:
            job_id = data.draw(st.sampled_from(list(self.jobs)))
            before = ledger.row(self.conn, job_id)["state"]
            operations.retry_now(self.conn, [job_id])
            assert ledger.row(self.conn, job_id)["state"] == before

    @rule()
    def redrive_in_the_console(self) -> None:
        """AWS moves every message of the dead-letter queue back, whatever the ledger thinks of it."""
        for message in self.dead_letters.receive(limit=10, wait=timedelta(0)):
            self.source.enqueue([OutgoingMessage(message.body, message.attributes)])
            self.dead_letters.ack([message])

    # --- SQS and time

    @rule()
    def lose_every_message(self) -> None:
        self.source.purge()

    @rule(data=st.data())
    def deliver_twice(self, data: st.DataObject) -> None:
        if stored := self.source.all():
            chosen = data.draw(st.sampled_from([message.message_id for message in stored]))
            self.source.deliver_twice(chosen)

    @rule(time=st.sampled_from([timedelta(seconds=s) for s in (1, 10, 61, 300, 3700, 9000)]))
    def let_pass(self, time: timedelta) -> None:
        self._clocks_go_on(time)
        ledger.let_pass(self.conn, time)

    @rule(time=st.sampled_from([timedelta(days=days) for days in (1, 60, 89, 91)]))
    def let_days_pass(self, time: timedelta) -> None:
        """Whatever was under way, a process may go on with it after so long; messages are gone by then."""
        self._clocks_go_on(time)
        with psycopg.connect(self.owner_url) as owner:
            let_years_pass(owner, time)

    def _clocks_go_on(self, time: timedelta) -> None:
        self.time += time.total_seconds()
        for target, end in list(self.pauses.items()):
            if end <= self.time:
                del self.pauses[target]
                self.held.append((target, self.paused_at[target], end))

    # --- retention

    @rule(step_rows=st.sampled_from([1, 500]))
    def prune(self, step_rows: int) -> None:
        """What was over for as long as it is kept goes, and nothing else, whoever still holds a copy of it."""
        prune(self.database, time_left=lambda: timedelta(minutes=1), step_rows=step_rows, within_s=60)
        left = {job_id for (job_id,) in self.conn.execute("SELECT id FROM jobs")}
        for job_id in [job_id for job_id in self.jobs if job_id not in left]:
            history = self.jobs.pop(job_id)
            assert history.ended is not None, "a job went that somebody needs"
            assert self.time - history.ended > KEPT_S - CLOCKS_APART_S, "a job went before its time"
            self.forgotten.add(job_id)

    @rule(commits=st.booleans())
    def prune_in_the_middle_of_it(self, commits: bool) -> None:
        """A step of another run is open, and then commits or dies; nobody waits for it."""
        with psycopg.connect(self.database_url) as other:
            retention.prune(other, "prune_jobs", limit=2, after=None)
            self.prune(500)
            if not commits:
                other.rollback()
        self.prune(500)

    @rule()
    def sweep(self) -> None:
        sweep(
            self.dead_letters,
            name=QueueName.NOTIFICATIONS,
            database=self.database,
            budgets=BUDGETS,
            time_left=lambda: timedelta(seconds=50),
        )

    # --- what holds at every moment

    @invariant()
    def every_unfinished_job_will_be_published(self) -> None:
        if not hasattr(self, "jobs"):
            return
        states: dict[JobId, str] = dict(
            self.conn.execute("SELECT id, state FROM jobs WHERE publish_at IS NULL").fetchall()
        )
        assert set(states.values()) <= {"completed", "cancelled"}

    @invariant()
    def budgets_stand_still_while_a_job_is_paused(self) -> None:
        if not hasattr(self, "jobs"):
            return
        rows = self.conn.execute(
            "SELECT job_type, age_s(budget_from), job_age_s(job_type, queue, budget_from) FROM jobs"
        ).fetchall()
        for job_type, age_s, counted_s in rows:
            expected = age_s - self._held_s(job_type, self.time - age_s)
            assert abs(counted_s - expected) < CLOCKS_APART_S, (job_type, age_s, counted_s, expected)

    @invariant()
    def a_key_has_one_unfinished_job(self) -> None:
        if hasattr(self, "jobs"):
            keys = self._keys()
            assert len(keys) == len(set(keys))

    @invariant()
    def what_must_be_found_stands_where_it_is_looked_for(self) -> None:
        """The narrow tables know every job that is to be published, each held key, and the dead."""
        if not hasattr(self, "jobs"):
            return
        lost = self.conn.execute(
            "SELECT id FROM jobs j WHERE publish_at IS NOT NULL AND NOT EXISTS ("
            " SELECT FROM job_schedule s WHERE s.job_id = j.id AND s.look_at <= j.publish_at)"
        ).fetchall()
        assert lost == []
        keys = self.conn.execute("SELECT unique_key, job_id FROM job_keys").fetchall()
        held = "SELECT unique_key, id FROM jobs WHERE unique_key IS NOT NULL AND publish_at IS NOT NULL"
        assert sorted(keys) == sorted(self.conn.execute(held).fetchall())
        dead = self.conn.execute("SELECT job_id FROM dead_jobs").fetchall()
        assert sorted(dead) == sorted(self.conn.execute("SELECT id FROM jobs WHERE state = 'dead_letter'").fetchall())

    @invariant()
    def what_ended_stays_ended(self) -> None:
        if not hasattr(self, "jobs"):
            return
        states: dict[JobId, str] = dict(self.conn.execute("SELECT id, state FROM jobs").fetchall())
        for job_id, history in self.jobs.items():
            assert history.completed <= 1
            if history.completed:
                assert states[job_id] == "completed"
            if history.cancelled:
                assert states[job_id] == "cancelled"

    # --- and in the end

    def come_to_rest(self) -> None:
        """Every process that lived is dead; from here on workers, relay and time go on without failures or pauses."""
        for target in list(self.pauses):
            self.resume(target)
        for _ in range(400):
            states = {str(state) for (state,) in self.conn.execute("SELECT DISTINCT state FROM jobs")}
            if not states & LIVE and self._dead_letters_are_there():
                break
            # A letter that was moved back and lost with its queue is written again before two weeks are over.
            self.let_pass(timedelta(minutes=4) if states & LIVE else timedelta(days=6))
            self.run_the_relay()
            for _ in range(6):
                batch = self.receive_and_claim(limit=1, alone=True)
                if isinstance(batch, ClaimedBatch):
                    self.settle(batch, "done")
        else:
            rows = self.conn.execute("SELECT id, state, attempts, crashes, publish_at - now() FROM jobs").fetchall()
            raise AssertionError(f"jobs do not come to rest: {rows}")

    def come_to_rest_again_years_later(self) -> None:
        """Of a pruned ledger the dead are left, with their current letters; they are redriven, and then nothing is."""
        query = "SELECT id FROM jobs WHERE state = 'dead_letter'"
        dead = {job_id for (job_id,) in self.conn.execute(query)}
        self._years_pass()
        self.come_to_rest()
        assert {job_id for (job_id,) in self.conn.execute("SELECT id FROM jobs")} == dead
        dead_letter.redrive(self.conn, list(dead))
        self.come_to_rest()
        assert not self.conn.execute(query).fetchall()
        self._years_pass()
        assert self.conn.execute("SELECT count(*) FROM jobs").fetchone() == (0,)

    def _years_pass(self) -> None:
        time = timedelta(days=1000)
        self.time += time.total_seconds()
        with psycopg.connect(self.owner_url) as owner:
            let_years_pass(owner, time)
        prune_all(self.database)

    def run_the_relay(self) -> None:
        run_relay(
            database=self.database,
            queues=self.queues,
            publisher=self.publisher,
            budgets=BUDGETS,
            time_left=lambda: timedelta(seconds=50),
        )

    def _dead_letters_are_there(self) -> bool:
        """Tell whether each dead job has its current message where the alarm looks."""
        rows = self._dead_letter_numbers().items()
        letters = [envelope.decode(stored.body) for stored in self.dead_letters.all()]
        found = {(letter.job_id, letter.dead_letter_no) for letter in letters}
        return set(rows) <= found

    def _dead_letter_numbers(self) -> dict[JobId, int]:
        query = "SELECT id, dead_letter_no FROM jobs WHERE state = 'dead_letter'"
        numbers: dict[JobId, int] = dict(self.conn.execute(query).fetchall())
        return numbers


def test_no_job_is_lost_revived_or_doubled(database_url: str, owner_url: str, times: Times) -> None:
    JobProtocol.database_url, JobProtocol.owner_url = database_url, owner_url
    run_state_machine_as_test(
        JobProtocol,
        settings=settings(
            max_examples=times(short=25, long=600),
            phases=[Phase.generate],
            stateful_step_count=40,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
