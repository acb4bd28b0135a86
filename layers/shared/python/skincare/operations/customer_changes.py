"""What the on-call engineer may do about what is known of customers."""

from collections.abc import Sequence

from skincare.customers import repository
from skincare.customers.errors import ExportNotReady
from skincare.customers.models import CustomerRequests, ExportLink, RequestKind
from skincare.customers.service import ask, link_of_export
from skincare.database.connection import Connection
from skincare.jobs.repository import outbox
from skincare.operations.audited import AuditedChanges
from skincare.operations.models import Change


class CustomerChanges(AuditedChanges):
    """Exports and erasures. The audit is never rewritten, so it has the numbers of requests and names no account."""

    def ask_for_customer(self, kind: RequestKind, user_ids: Sequence[str], *, delivered: bool) -> CustomerRequests:
        """Write down that accounts are to be exported or erased, and publish the jobs; asked again it is the same."""
        numbers: list[int] = []

        def act(conn: Connection) -> Change:
            asked = [ask(conn, kind, user_id, delivered=delivered) for user_id in sorted(set(user_ids))]
            numbers.extend(request_id for request_id, _ in asked)
            jobs = [job for _, job in asked if job]
            outbox.make_due(conn, jobs)
            return Change(len(asked), tuple(str(job.job_id) for job in jobs), {"requested": len(asked)})

        self._publish(self._do(f"{kind}_customer", {"requests": numbers, "delivered": delivered}, act))
        with self._database.connection() as conn:
            return CustomerRequests(tuple(repository.these(conn, numbers)))

    def fetch_customer_export(self, request_id: int) -> ExportLink:
        """Return a link to the file of an export. Raises `ExportNotReady` and `ObjectStoreUnavailable`."""

        def act(conn: Connection) -> Change:
            found = repository.exported_key(conn, request_id) is not None
            return Change(int(found), counts={"handed_out": int(found)})

        if self._do("fetch_customer_export", {"request": request_id}, act).changed == 0:
            raise ExportNotReady(request_id)
        return link_of_export(request_id, database=self._database, files=self._files)
