"""What the on-call engineer may change. Each change and its audit are one transaction."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

from skincare.customers import repository as customers
from skincare.customers.models import CustomerRequests, RequestKind
from skincare.customers.service import ask
from skincare.database.connection import Connection, Database
from skincare.identifiers import JobId, OrderNumber
from skincare.jobs.publisher import Publisher
from skincare.jobs.repository import outbox
from skincare.notifications.mail_jobs import job_of
from skincare.observability import logger
from skincare.operations.errors import RecipientSuppressed
from skincare.operations.models import Caller, Change, ReconciliationState
from skincare.operations.repository import audit, changes, mails
from skincare.operations.repository.changes import Act
from skincare.operations.service import LIST_LIMIT, run_again
from skincare.orders.errors import OrderUnknown
from skincare.payments.findings.repository.findings import open_findings
from skincare.payments.findings.service import look_through
from skincare.payments.reconciliation.repository import Unattended
from skincare.payments.reconciliation.service import repair, unattended
from skincare.payments.refunds.models import RefundRequest, RefundRow
from skincare.payments.refunds.service import request_refund
from skincare.payments.repository import lock_order
from skincare.payments.service import OVERDUE_FLAWS

_LOOK_FOR_S = 15.0


class Changes:
    """Changes in the name of one caller, for one reason. What they leave alone is counted, and no error."""

    def __init__(self, database: Database, publisher: Publisher, *, caller: Caller, reason: str | None) -> None:
        self._database = database
        self._publisher = publisher
        self._caller = caller
        self._reason = reason

    def redrive(self, dead_letter_nos: Mapping[JobId, int], *, force: bool, even_crashed: bool) -> Change:
        """Bring back jobs whose `dead_letter_no` is still the one that was looked at, and publish them.

        A type that is not safe to run again is left alone without `force`, and a job that took its worker down time
        after time without `even_crashed`.
        """
        request = {"deaths": _keyed(dead_letter_nos), "force": force, "even_crashed": even_crashed}
        return self._publish(
            self._do(
                "redrive",
                request,
                lambda conn: changes.redrive(
                    conn,
                    dead_letter_nos,
                    may_run_again=lambda job_type: force or run_again(job_type).safe,
                    even_crashed=even_crashed,
                ),
            )
        )

    def discard(self, dead_letter_nos: Mapping[JobId, int], *, even_paid: bool) -> Change:
        """Cancel jobs whose `dead_letter_no` is still the one that was looked at; a payment event goes with its job.

        One that says that a customer has paid is left alone without `even_paid`.
        """
        request = {"deaths": _keyed(dead_letter_nos), "even_paid": even_paid}
        return self._do("discard", request, lambda conn: changes.discard(conn, dead_letter_nos, even_paid=even_paid))

    def acknowledge(self, dead_letter_nos: Mapping[JobId, int], *, lasts: timedelta) -> Change:
        """Note that somebody knows of dead jobs that still have the dead letter that was looked at."""
        request = {"deaths": _keyed(dead_letter_nos), "lasts_s": int(lasts.total_seconds())}
        identity, reason = self._caller.claimed_identity, self._reason
        assert reason is not None  # noqa: S101  the request has it
        return self._do(
            "acknowledge",
            request,
            lambda conn: changes.acknowledge(
                conn, dead_letter_nos, claimed_identity=identity, reason=reason, lasts=lasts
            ),
        )

    def unacknowledge(self, dead_letter_nos: Mapping[JobId, int]) -> Change:
        """Take back that somebody knows of these dead letters: they count for the alarm again."""
        request = {"deaths": _keyed(dead_letter_nos)}
        return self._do("unacknowledge", request, lambda conn: changes.unacknowledge(conn, dead_letter_nos))

    def cancel(self, job_ids: Sequence[JobId], *, even_paid: bool) -> Change:
        """Cancel jobs that are not finished; payment events as with `discard`."""
        request = _listed(job_ids) | {"even_paid": even_paid}
        return self._do("cancel", request, lambda conn: changes.cancel(conn, job_ids, even_paid=even_paid))

    def revive(self, job_ids: Sequence[JobId]) -> Change:
        """Bring cancelled jobs back as if they were new, and publish them."""
        return self._publish(self._do("revive", _listed(job_ids), lambda conn: changes.revive(conn, job_ids)))

    def retry_now(self, job_ids: Sequence[JobId]) -> Change:
        """End the wait of jobs for their next attempt, and publish them."""
        return self._publish(self._do("retry_now", _listed(job_ids), lambda conn: changes.retry_now(conn, job_ids)))

    def resolve_anomaly(self, anomaly_id: int) -> Change:
        """Note that somebody has dealt with money that does not fit."""
        request = {"anomaly_id": anomaly_id}
        return self._do("resolve_anomaly", request, lambda conn: changes.resolve_anomaly(conn, anomaly_id))

    def review_event(self, event_id: UUID) -> Change:
        """Note that somebody has looked at a payment event that could not be read."""
        request = {"event_id": str(event_id)}
        return self._do("review_event", request, lambda conn: changes.review_event(conn, event_id))

    def set_aside_event(self, event_id: UUID, *, even_paid: bool) -> Change:
        """Give up a payment event that can never be applied; one that says *paid* needs `even_paid`."""
        request = {"event_id": str(event_id), "even_paid": even_paid}
        return self._do(
            "set_aside_event", request, lambda conn: changes.set_aside_event(conn, event_id, even_paid=even_paid)
        )

    def take_up_event(self, event_id: UUID) -> Change:
        """Try a payment event again that was set aside, by a person or because its time was over."""
        request = {"event_id": str(event_id)}
        return self._do(
            "take_up_event",
            request,
            lambda conn: changes.take_up_event(conn, event_id, overdue_flaws=OVERDUE_FLAWS),
        )

    def settle_finding(self, finding_id: int) -> Change:
        """Note that somebody has dealt with what the reconciliation found."""
        request = {"finding_id": finding_id}
        return self._do("settle_finding", request, lambda conn: changes.settle_finding(conn, finding_id))

    def reopen_finding(self, finding_id: int) -> Change:
        """Take back that a finding was dealt with."""
        request = {"finding_id": finding_id}
        return self._do("reopen_finding", request, lambda conn: changes.reopen_finding(conn, finding_id))

    def close_quarantined(self, message_id: int) -> Change:
        """Note that somebody has dealt with a quarantined message, which stays where it is."""
        request = {"message_id": message_id}
        return self._do("close_quarantined", request, lambda conn: changes.close_quarantined(conn, message_id))

    def lift(self, *, email: str | None, ids: Sequence[int]) -> Change:
        """Let suppressed addresses get mail again, by address or by their numbers. What was withheld is not sent."""
        lifted: list[int] = []
        # The audit is never rewritten, so it names no address; it has the numbers of what was lifted.
        request: dict[str, Any] = {"by": "address" if email is not None else "number", "suppressions": lifted}

        def act(conn: Connection) -> Change:
            lifted.extend(mails.lift(conn, email=email, ids=ids))
            asked = 1 if email is not None else len(ids)
            return Change(len(lifted), counts={"lifted": len(lifted), "not_suppressed": asked - len(lifted)})

        return self._do("lift_suppressions", request, act)

    def resend_mails(self, order_number: OrderNumber) -> Change:
        """Enqueue the mails about an order that were not delivered once more; each looks whether it still is of use.

        Raises `OrderUnknown`, and `RecipientSuppressed` while its address is.
        """

        def act(conn: Connection) -> Change:
            if lock_order(conn, order_number) is None:
                raise OrderUnknown
            if mails.is_suppressed(conn, order_number):
                raise RecipientSuppressed(order_number)
            jobs = {
                each: job for each in mails.undeliverable(conn, order_number) if (job := job_of(each, order_number))
            }
            if not jobs:
                return Change(0, counts={"enqueued": 0})
            mails.forget_undeliverable(conn, order_number, list(jobs))
            enqueued = outbox.insert_all(conn, list(jobs.values()), order_number=order_number, request_id=None)
            return Change(len(enqueued), tuple(str(job.job_id) for job in enqueued), {"enqueued": len(enqueued)})

        return self._do("resend_mails", {"order_number": order_number}, act)

    def refund(self, request: RefundRequest) -> RefundRow:
        """Write a refund down, to be sent by its job. Raises `OrderUnknown` and `RefundNotPossible`."""
        asked: list[RefundRow] = []

        def act(conn: Connection) -> Change:
            asked.append(request_refund(conn, request))
            return Change(1, counts={"requested": 1})

        about: dict[str, Any] = {
            "order_number": request.order_number,
            "amount_rupiah": request.amount_rupiah,
            "key": request.key,
        }
        if request.keep_stock:
            about["keep_stock"] = True
        self._do("refund", about, act)
        return asked[0]

    def ask_for_customer(self, kind: RequestKind, user_ids: Sequence[str], *, delivered: bool) -> CustomerRequests:
        """Write down that accounts are to be exported or erased, and publish the jobs; asked again it is the same."""
        # The audit is never rewritten, so it names no account; the request does until it is done.
        numbers: list[int] = []

        def act(conn: Connection) -> Change:
            asked = [ask(conn, kind, user_id, delivered=delivered) for user_id in sorted(set(user_ids))]
            numbers.extend(request_id for request_id, _ in asked)
            job_ids = tuple(str(job.job_id) for _, job in asked if job)
            return Change(len(asked), job_ids, {"requested": len(asked)})

        self._publish(self._do(f"{kind}_customer", {"requests": numbers, "delivered": delivered}, act))
        with self._database.connection() as conn:
            return CustomerRequests(tuple(customers.these(conn, numbers)))

    def fetch_customer_export(self, request_id: int) -> bool:
        """Write down that the file of an export is handed out; False where there is none."""

        def act(conn: Connection) -> Change:
            found = customers.exported_key(conn, request_id) is not None
            return Change(int(found), counts={"handed_out": int(found)})

        return self._do("fetch_customer_export", {"request": request_id}, act).changed == 1

    def reconcile(self) -> ReconciliationState:
        """Compare orders with payments and repair what is safe, for some seconds.

        What was repaired is a change and audited as one; looking through the rest changes nothing but the findings.
        """
        repaired: list[Unattended] = []

        def act(conn: Connection) -> Change:
            repaired.extend(repair(conn))
            return Change(len(repaired), counts={"mended": len(repaired)})

        self._do("reconcile", {}, act)
        looked = look_through(self._database, within_s=_LOOK_FOR_S)
        repaired += map(unattended, looked.enqueued)
        with self._database.connection() as conn:
            found = open_findings(conn, limit=LIST_LIMIT)
        return ReconciliationState(
            mended=tuple((each.kind, each.subject) for each in repaired),
            findings=tuple((each.kind, each.subject) for each in found),
            finished=looked.finished,
        )

    def _do(self, operation: str, request: Mapping[str, Any], act: Act) -> Change:
        with self._database.connection() as conn, conn.transaction():
            change = act(conn)
            if change.changed:
                audit.record(
                    conn,
                    self._caller,
                    operation=operation,
                    reason=self._reason,
                    request=request,
                    counts=change.counts,
                )
        logger.info("operations.done", operation=operation, counts=dict(change.counts), job_ids=change.job_ids)
        return change

    def _publish(self, change: Change) -> Change:
        """Publish what was made due; dying before that costs a minute, for the relay does it too."""
        if change.job_ids:
            with self._database.connection() as conn:
                due = outbox.take_these(conn, [JobId(UUID(job_id)) for job_id in change.job_ids])
            self._publisher.publish_now(due)
        return change


def _keyed(dead_letter_nos: Mapping[JobId, int]) -> dict[str, int]:
    return {str(job_id): number for job_id, number in dead_letter_nos.items()}


def _listed(job_ids: Sequence[JobId]) -> dict[str, Any]:
    return {"job_ids": [str(job_id) for job_id in job_ids]}
