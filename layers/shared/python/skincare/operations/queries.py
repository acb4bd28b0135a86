"""What the on-call engineer may look at."""

from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

from skincare.customers.models import Accounts, CustomerRequests
from skincare.customers.service import find_accounts, list_requests
from skincare.database.connection import Database
from skincare.identifiers import JobId, OrderNumber, Sku
from skincare.inventory import repository as inventory
from skincare.inventory.models import MovementPage, Stock
from skincare.jobs.catalog import RUN_AGAIN, UNKNOWN_TYPE, RunAgain
from skincare.jobs.models import JobState
from skincare.jobs.repository import operations, pauses, quarantine
from skincare.jobs.repository.acknowledgements import acknowledgements
from skincare.jobs.retry import CRASH_LIMIT, CRASHED
from skincare.operations.conditions import DeadConditions, JobConditions
from skincare.operations.dead_letters import DeadList, DeadPage
from skincare.operations.models import (
    IdMatches,
    JobPage,
    Jobs,
    JobTimeline,
    OrderTimeline,
    OutboxState,
    PaymentsState,
    QuarantinedContent,
    SuppressedPage,
)
from skincare.operations.pauses import Pauses
from skincare.operations.repository import backlog, dead_jobs, found_jobs, mails, timelines
from skincare.retention.models import RetentionState
from skincare.retention.service import retention_state

LIST_LIMIT = 200
"""Rows of a list that nobody pages through."""

_CRASHED = RunAgain(
    safe=False, why=f"took its worker down {CRASH_LIMIT} times; not before a release that fixes it (--even-crashed)"
)


def run_again(job_type: str, error_class: str | None = None) -> RunAgain:
    """Return whether a job of this type that died of this error may be run again, and why."""
    return _CRASHED if error_class == CRASHED else RUN_AGAIN.get(job_type, UNKNOWN_TYPE)


class Queries:
    """Questions to one database; none changes anything."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def list_dead(self) -> DeadList:
        """Return dead jobs by type and error, and the messages in quarantine."""
        with self._database.connection() as conn:
            groups = dead_jobs.groups(conn)
            acknowledged = dead_jobs.acknowledged(conn, limit=LIST_LIMIT)
            messages = quarantine.waiting(conn, limit=LIST_LIMIT)
        advised = [(group, run_again(group.job_type, group.error_class)) for group in groups]
        return DeadList(
            tuple(replace(group, safe=again.safe, why=again.why) for group, again in advised),
            tuple(messages),
            tuple(acknowledged),
        )

    def find_dead(self, which: DeadConditions, *, after: UUID | None, limit: int) -> DeadPage:
        """Return a page of dead jobs, each with what a person should know before it runs again."""
        with self._database.connection() as conn:
            found = dead_jobs.find(conn, which, after=after, limit=limit)
            ids = [JobId(UUID(job.id)) for job in found]
            past_use, acknowledged = dead_jobs.obsolete_reasons(conn, ids), acknowledgements(conn, ids)
        return DeadPage(
            tuple(
                replace(
                    job,
                    safe=run_again(job.job_type, job.error_class).safe,
                    past_use=past_use.get(job_id),
                    acknowledgement=acknowledged.get(job_id),
                )
                for job_id, job in zip(ids, found, strict=True)
            ),
            more=len(found) == limit,
        )

    def list_jobs(self, *, queue: str | None, state: str | None, limit: int) -> Jobs:
        """Return the newest jobs, all or those of a queue or in a state."""
        with self._database.connection() as conn:
            return Jobs(tuple(operations.list_jobs(conn, queue=queue, state=state, limit=limit)))

    def find_jobs(self, wanted: JobConditions, *, after: UUID | None, limit: int) -> JobPage:
        """Return a page of jobs that fit conditions."""
        with self._database.connection() as conn:
            found = found_jobs.find(conn, wanted, after=after, limit=limit)
        return JobPage(tuple(found), more=len(found) == limit)

    def find_ids(self, kind: str, beginnings: Sequence[str]) -> IdMatches:
        """Return the ids of jobs or payment events that begin so."""
        with self._database.connection() as conn:
            return IdMatches(tuple(found_jobs.ids_beginning_with(conn, kind, beginnings)))

    def look_at_jobs(self, job_ids: Sequence[JobId], *, order_number: str | None, limit: int) -> Jobs:
        """Return these jobs, and the newest of an order."""
        with self._database.connection() as conn:
            more = timelines.jobs_of_order(conn, order_number, limit=limit) if order_number else []
            return Jobs(tuple(timelines.jobs(conn, [*job_ids, *more])))

    def job_timeline(self, job_id: JobId) -> JobTimeline | None:
        """Return a job with everything that is known about it, None where there is none."""
        with self._database.connection() as conn:
            found = timelines.jobs(conn, [job_id])
            carried = timelines.payload_and_release(conn, job_id)
            if not found or carried is None:
                return None
            (job,), (payload, release) = found, carried
            again = run_again(job.type, job.error_class if job.state == JobState.DEAD_LETTER else None)
            return JobTimeline(
                job=job,
                payload=payload,
                release=release,
                safe=again.safe,
                why=again.why,
                past_use=dead_jobs.obsolete_reasons(conn, [job_id]).get(job_id),
                attempts=tuple(timelines.attempts(conn, job_id)),
                order=timelines.order(conn, OrderNumber(job.order_number)) if job.order_number else None,
                pauses=tuple(pauses.of_job(conn, job_type=job.type, queue=job.queue)) if job.paused else (),
                acknowledgement=acknowledgements(conn, [job_id]).get(job_id),
            )

    def order_timeline(self, order_number: OrderNumber) -> OrderTimeline | None:
        """Return what happened to an order, None where there is none."""
        with self._database.connection() as conn:
            return timelines.order(conn, order_number)

    def suppressed(self, *, email: str | None, reason: str | None, after: int | None, limit: int) -> SuppressedPage:
        """Return a page of the addresses that get no mail: that of `email`, those whose reason begins so, or all."""
        with self._database.connection() as conn:
            found = mails.suppressed(conn, email=email, reason=reason, after=after, limit=limit)
        return SuppressedPage(tuple(found), more=len(found) == limit)

    def retention_state(self) -> RetentionState:
        """Return what is kept how long, and what of it has had its time."""
        return retention_state(self._database)

    def stock(self, sku: Sku) -> Stock | None:
        """Return a product's stock, None where there is no such product."""
        with self._database.connection() as conn:
            return inventory.find(conn, sku)

    def movements(self, sku: Sku, *, before: int | None, limit: int) -> MovementPage | None:
        """Return a page of a product's movements, None where there is no such product."""
        with self._database.connection() as conn:
            if inventory.find(conn, sku) is None:
                return None
            found = inventory.movements(conn, sku, before=before, limit=limit + 1)
        return MovementPage(tuple(found[:limit]), more=len(found) > limit)

    def accounts(self, who: str) -> Accounts:
        """Return the accounts that an address or an account's own name leads to."""
        return find_accounts(self._database, who)

    def customer_requests(self) -> CustomerRequests:
        """Return what customers have asked for."""
        return list_requests(self._database)

    def outbox_state(self) -> OutboxState:
        """Return how far the outbox is behind."""
        with self._database.connection() as conn:
            return backlog.outbox(conn)

    def pauses(self) -> Pauses:
        """Return the pauses that are on."""
        with self._database.connection() as conn:
            return Pauses(tuple(pauses.active(conn)))

    def payments_state(self) -> PaymentsState:
        """Return what of payments waits."""
        with self._database.connection() as conn:
            return backlog.payments(conn, limit=LIST_LIMIT)

    def quarantined(self, message_id: int) -> QuarantinedContent | None:
        """Return a quarantined message whole, None where there is none."""
        with self._database.connection() as conn:
            found = quarantine.content(conn, message_id)
        return None if found is None else QuarantinedContent(*found)
