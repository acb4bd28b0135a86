"""What the on-call engineer may change about payments."""

from typing import Any
from uuid import UUID

from skincare.database.connection import Connection
from skincare.jobs.catalog import ProcessPayment
from skincare.jobs.repository import operations, outbox
from skincare.operations.audited import AuditedChanges, if_any
from skincare.operations.models import Change, ReconciliationState
from skincare.operations.queries import LIST_LIMIT
from skincare.operations.repository import backlog, events
from skincare.payments.findings.repository import findings
from skincare.payments.findings.service import look_through
from skincare.payments.reconciliation.repository import Unattended
from skincare.payments.reconciliation.service import repair, unattended
from skincare.payments.refunds.models import RefundRequest, RefundRow
from skincare.payments.refunds.service import request_refund
from skincare.payments.service import OVERDUE_FLAWS

_LOOK_FOR_S = 15.0


class PaymentChanges(AuditedChanges):
    """What becomes of payment events, anomalies, findings and refunds."""

    def resolve_anomaly(self, anomaly_id: int) -> Change:
        """Note that somebody has dealt with money that does not fit."""

        def act(conn: Connection) -> Change:
            resolved = int(backlog.resolve_anomaly(conn, anomaly_id))
            return Change(resolved, counts={"resolved": resolved, "not_open": 1 - resolved})

        return self._do("resolve_anomaly", {"anomaly_id": anomaly_id}, act)

    def review_event(self, event_id: UUID) -> Change:
        """Note that somebody has looked at a payment event that could not be read."""

        def act(conn: Connection) -> Change:
            reviewed = int(backlog.review_event(conn, event_id))
            return Change(reviewed, counts={"reviewed": reviewed, "not_waiting": 1 - reviewed})

        return self._do("review_event", {"event_id": str(event_id)}, act)

    def set_aside_event(self, event_id: UUID, *, even_paid: bool) -> Change:
        """Give up a payment event that can never be applied, with its jobs; one that says *paid* needs `even_paid`."""

        def act(conn: Connection) -> Change:
            outcome = events.set_aside(conn, [event_id], even_paid=even_paid).get(event_id, "unknown")
            if outcome != "set_aside":
                return Change(0, counts={"set_aside": 0, outcome: 1})
            cancelled = operations.cancel(conn, events.jobs_of(conn, [event_id]))
            return Change(1, counts={"set_aside": 1} | if_any(jobs_cancelled=len(cancelled)))

        return self._do("set_aside_event", {"event_id": str(event_id), "even_paid": even_paid}, act)

    def take_up_event(self, event_id: UUID) -> Change:
        """Try a payment event again that was set aside, by a person or because its time was over."""

        def act(conn: Connection) -> Change:
            order_number = events.take_up(conn, event_id, overdue_flaws=OVERDUE_FLAWS)
            if order_number is None:
                return Change(0, counts={"taken_up": 0, "not_set_aside": 1})
            job = ProcessPayment(event_id=str(event_id))
            key = f"{job.job_type}:{event_id}"
            outbox.insert_for_relay(conn, job, unique_key=key, order_number=order_number)
            return Change(1, counts={"taken_up": 1})

        return self._do("take_up_event", {"event_id": str(event_id)}, act)

    def settle_finding(self, finding_id: int) -> Change:
        """Note that somebody has dealt with what the reconciliation found."""

        def act(conn: Connection) -> Change:
            settled = int(findings.settle(conn, finding_id))
            return Change(settled, counts={"settled": settled, "not_open": 1 - settled})

        return self._do("settle_finding", {"finding_id": finding_id}, act)

    def reopen_finding(self, finding_id: int) -> Change:
        """Take back that a finding was dealt with."""

        def act(conn: Connection) -> Change:
            reopened = int(findings.reopen(conn, finding_id))
            return Change(reopened, counts={"reopened": reopened, "not_settled": 1 - reopened})

        return self._do("reopen_finding", {"finding_id": finding_id}, act)

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
            found = findings.open_findings(conn, limit=LIST_LIMIT)
        return ReconciliationState(
            mended=tuple((each.kind, each.subject) for each in repaired),
            findings=tuple((each.kind, each.subject) for each in found),
            finished=looked.finished,
        )
