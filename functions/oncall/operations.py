"""One request, one call: what each operation does."""

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

from oncall import customer_requests, job_requests, mail_requests, money_requests, requests
from oncall.answers import refusal, success
from oncall.refusals import RequestRefused
from oncall.request import MOST_JOBS, ChangeRequest, Request
from oncall.requests import DeadLetterRef
from skincare.app import App
from skincare.customers.errors import ExportNotReady
from skincare.customers.models import ExportLink, RequestKind
from skincare.customers.service import find_accounts, link_of_export, list_requests
from skincare.database.connection import Database
from skincare.errors import TransientError
from skincare.identifiers import JobId, OrderNumber
from skincare.observability import describe, logger, trace
from skincare.operations import service
from skincare.operations.changes import Changes
from skincare.operations.errors import RecipientSuppressed
from skincare.operations.models import Caller
from skincare.operations.repository.dead_jobs import Which
from skincare.operations.repository.found_jobs import Conditions
from skincare.orders.errors import OrderUnknown
from skincare.payments.errors import RefundNotPossible
from skincare.payments.refunds.models import RefundRequest, RefundRow


def answer(event: object, app: Callable[[], App], *, invocation_id: str) -> dict[str, Any]:
    """Do what an event asks for. Never raises: an error of Lambda's would quote what a driver says."""
    try:
        request = requests.read(event, _KNOWN)
    except RequestRefused as error:
        logger.warning("oncall.request_malformed", problems=len(error.fields))
        return refusal("request_malformed", "The request is malformed; nothing was done.", error.fields)
    operation = type(request).model_fields["operation"].default
    try:
        found = _do(request, app(), invocation_id)
    except (ExportNotReady, OrderUnknown, RecipientSuppressed, RefundNotPossible) as error:
        logger.warning("oncall.not_possible", operation=operation, error=describe(error))
        return refusal("not_possible", f"{str(error)[:1].upper()}{str(error)[1:]}.")
    except TransientError as error:
        logger.warning("oncall.unavailable", operation=operation, error=describe(error))
        return refusal("database_unavailable", f"Not now: {error}. Ask again; what is done is not done twice.")
    except Exception as error:  # noqa: BLE001  see above
        logger.error("oncall.failed", operation=operation, error=describe(error), trace=trace(error))
        return refusal("failed", "It failed; the log of this invocation says where.")
    logger.info("oncall.answered", operation=operation, found=found is not None)
    return refusal("not_found", "There is no such thing.") if found is None else success(request, found)


def _do(request: Request, app: App, invocation_id: str) -> object | None:
    if isinstance(request, ChangeRequest):
        caller = Caller(request.claimed_identity, invocation_id)
        changes = Changes(app.database, app.publisher, caller=caller, reason=request.reason)
        if isinstance(request, customer_requests.FetchCustomerExport):
            return _fetch(request, changes, app)
        return _change(request, changes)
    return _LOOKS[type(request)](request, app.database)


def _refund(request: requests.Refund, changes: Changes) -> RefundRow:
    # Who asked is in the audit in full.
    asked_by = request.claimed_identity[-100:]
    return changes.refund(
        RefundRequest(
            OrderNumber(request.order_number),
            request.reason,
            asked_by,
            amount_rupiah=request.amount_rupiah,
            transaction_id=request.transaction_id,
            anomaly_id=request.anomaly_id,
            keep_stock=request.keep_stock,
            key=request.key,
        )
    )


def _fetch(request: customer_requests.FetchCustomerExport, changes: Changes, app: App) -> ExportLink:
    if not changes.fetch_customer_export(request.request_id):
        raise ExportNotReady(request.request_id)
    return link_of_export(request.request_id, database=app.database, files=app.files)


def _change(request: ChangeRequest, changes: Changes) -> object:
    return _CHANGES[type(request)](request, changes)


def _ids(job_ids: Sequence[UUID]) -> list[JobId]:
    """Return each once, in the order in which all statements lock them."""
    return [JobId(job_id) for job_id in sorted(set(job_ids))]


def _dead_letter_nos(refs: Sequence[DeadLetterRef]) -> Mapping[JobId, int]:
    return {JobId(ref.job_id): ref.dead_letter_no for ref in refs}


_KNOWN = (
    *requests.REQUESTS,
    *job_requests.JOB_REQUESTS,
    *money_requests.MONEY_REQUESTS,
    *customer_requests.CUSTOMER_REQUESTS,
)

_LOOKS: Mapping[type[Request], Callable[[Any, Database], object | None]] = {
    requests.ListDead: lambda _, database: service.list_dead(database),
    requests.FindDead: lambda request, database: service.find_dead(
        database,
        Which(
            None if request.job_ids is None else _ids(request.job_ids),
            request.job_type,
            request.error_class,
            request.order_number,
            request.failed_before,
            request.queue,
            request.acknowledged,
        ),
        after=request.after,
        limit=request.limit,
    ),
    job_requests.FindJobs: lambda request, database: service.find_jobs(
        database,
        Conditions(
            request.which,
            None if request.job_ids is None else _ids(request.job_ids),
            request.job_type,
            request.error_class,
            request.queue,
            request.order_number,
            request.before,
        ),
        after=request.after,
        limit=request.limit,
    ),
    job_requests.FindIds: lambda request, database: service.find_ids(database, request.kind, request.beginnings),
    requests.ListJobs: lambda request, database: service.list_jobs(
        database, queue=request.queue, state=request.state, limit=request.limit
    ),
    requests.LookAtJobs: lambda request, database: service.look_at_jobs(
        database, _ids(request.job_ids), order_number=request.order_number, limit=MOST_JOBS
    ),
    requests.ShowJob: lambda request, database: service.job_timeline(database, JobId(request.job_id)),
    requests.ShowOrder: lambda request, database: service.order_timeline(database, OrderNumber(request.order_number)),
    requests.ShowOutbox: lambda _, database: service.outbox_state(database),
    requests.ShowPayments: lambda _, database: service.payments_state(database),
    mail_requests.ListSuppressed: lambda request, database: service.suppressed(
        database, email=request.email, reason=request.reason, after=request.after, limit=request.limit
    ),
    customer_requests.FindCustomer: lambda request, database: find_accounts(database, request.who),
    customer_requests.ListCustomerRequests: lambda _, database: list_requests(database),
    requests.ShowQuarantined: lambda request, database: service.quarantined(database, request.message_id),
}

_CHANGES: Mapping[type[Request], Callable[[Any, Changes], object]] = {
    requests.Redrive: lambda request, changes: changes.redrive(
        _dead_letter_nos(request.deaths), force=request.force, even_crashed=request.even_crashed
    ),
    requests.Discard: lambda request, changes: changes.discard(
        _dead_letter_nos(request.deaths), even_paid=request.even_paid
    ),
    requests.Acknowledge: lambda request, changes: changes.acknowledge(
        _dead_letter_nos(request.deaths), lasts=timedelta(seconds=request.lasts_s)
    ),
    requests.Unacknowledge: lambda request, changes: changes.unacknowledge(_dead_letter_nos(request.deaths)),
    requests.Cancel: lambda request, changes: changes.cancel(_ids(request.job_ids), even_paid=request.even_paid),
    job_requests.Revive: lambda request, changes: changes.revive(_ids(request.job_ids)),
    money_requests.SetAsideEvent: lambda request, changes: changes.set_aside_event(
        request.event_id, even_paid=request.even_paid
    ),
    money_requests.TakeUpEvent: lambda request, changes: changes.take_up_event(request.event_id),
    money_requests.SettleFinding: lambda request, changes: changes.settle_finding(request.finding_id),
    money_requests.ReopenFinding: lambda request, changes: changes.reopen_finding(request.finding_id),
    customer_requests.ExportCustomer: lambda request, changes: changes.ask_for_customer(
        RequestKind.EXPORT, request.user_ids, delivered=False
    ),
    customer_requests.EraseCustomer: lambda request, changes: changes.ask_for_customer(
        RequestKind.ERASE, request.user_ids, delivered=request.delivered
    ),
    requests.RetryNow: lambda request, changes: changes.retry_now(_ids(request.job_ids)),
    requests.ResolveAnomaly: lambda request, changes: changes.resolve_anomaly(request.anomaly_id),
    requests.ReviewEvent: lambda request, changes: changes.review_event(request.event_id),
    mail_requests.LiftSuppressions: lambda request, changes: changes.lift(
        email=request.email, ids=sorted(set(request.ids or []))
    ),
    mail_requests.ResendMails: lambda request, changes: changes.resend_mails(OrderNumber(request.order_number)),
    requests.Refund: _refund,
    requests.Reconcile: lambda _, changes: changes.reconcile(),
    requests.CloseQuarantined: lambda request, changes: changes.close_quarantined(request.message_id),
}
