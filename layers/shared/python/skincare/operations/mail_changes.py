"""What the on-call engineer may change about mail."""

from collections.abc import Sequence
from typing import Any

from skincare.database.connection import Connection
from skincare.identifiers import OrderNumber
from skincare.jobs.repository import outbox
from skincare.notifications.mail_jobs import job_of
from skincare.operations.audited import AuditedChanges
from skincare.operations.errors import RecipientSuppressed
from skincare.operations.models import Change
from skincare.operations.repository import mails
from skincare.orders.errors import OrderUnknown
from skincare.payments.repository import lock_order


class MailChanges(AuditedChanges):
    """Who gets mail again, and which."""

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
            outbox.make_due(conn, enqueued)
            return Change(len(enqueued), tuple(str(job.job_id) for job in enqueued), {"enqueued": len(enqueued)})

        return self._do("resend_mails", {"order_number": order_number}, act)
