"""What our queries say to the database, word for word: nothing that pins a connection behind RDS Proxy."""

import inspect
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from importlib import import_module
from types import ModuleType

import psycopg
import pytest
from psycopg import Connection, errors

import skincare
from skincare.carts import repository as carts
from skincare.catalog import repository as catalog
from skincare.catalog.search import repository as search
from skincare.catalog.search.models import Search, Sort
from skincare.customers import repository as customers
from skincare.customers.models import RequestKind
from skincare.database.connection import Database, StaticCredentials
from skincare.deployment.queues import QueueName
from skincare.identifiers import UserId, new_job_id, new_order_number, uuid7
from skincare.inventory import repository as inventory
from skincare.inventory.models import Move, Reason
from skincare.invoices import repository as invoices
from skincare.invoices.credit_notes import repository as credit_notes
from skincare.invoices.credit_notes.models import CreditNote
from skincare.jobs.catalog import ReconcilePayments
from skincare.jobs.models import PauseTarget
from skincare.jobs.repository import (
    acknowledgements,
    dead_letter,
    lease,
    operations,
    outbox,
    pauses,
    quarantine,
    timers,
)
from skincare.jobs.retry import Completed
from skincare.notifications import repository as notifications
from skincare.notifications.models import Notice, NotificationStatus, NotificationType
from skincare.operations.conditions import DeadConditions, JobConditions
from skincare.operations.models import Caller
from skincare.operations.repository import audit, backlog, dead_jobs, events, found_jobs, mails, timelines
from skincare.orders import repository as orders
from skincare.payments import repository as payments
from skincare.payments.anomalies import repository as anomalies
from skincare.payments.answers import repository as answers
from skincare.payments.attempts import repository as attempts
from skincare.payments.closing import repository as closing
from skincare.payments.expiry import repository as expiry
from skincare.payments.findings.models import Finding, Run
from skincare.payments.findings.repository import findings, looks, runs
from skincare.payments.full_payments import repository as full_payments
from skincare.payments.models import Attempt, EventId, EventStatus, GatewayEvent, Report
from skincare.payments.orphans import repository as orphans
from skincare.payments.reconciliation import repository as reconciliation
from skincare.payments.refund_effects import repository as refund_effects
from skincare.payments.refunds import repository as refunds
from skincare.payments.refunds.models import RefundRow
from skincare.payments.settlement import Anomaly, AnomalyKind, Payment, PaymentEvent, settle
from skincare.payments.unknown_statuses import repository as unknown_statuses
from skincare.retention import repository as retention
from skincare.retention.policy import REMOVED, RULES
from tests.support import ledger
from tests.support.factories import fill_cart, make_order, make_place_order, make_product, make_user_id, pay
from tests.support.wire import Wire

TIMES = 10

type Query = Callable[[], object]


def queries(conn: Connection, seed: Connection) -> dict[tuple[ModuleType, str], Query]:
    """Return a call of each repository function on `conn`; what they need is there, put by `seed`."""
    user, product, order = make_user_id(), make_product(seed), make_order(seed).order
    fill_cart(seed, user, {product.sku: 1})
    (row,) = seed.execute("SELECT id, user_id FROM orders WHERE order_number = %s", [order.order_number])
    order_id, buyer = row
    token = ledger.new_token()
    leased, waiting, refused = (ledger.enqueue(seed) for _ in range(3))
    ledger.claim_one(seed, leased.job_id, token=token)
    return {
        (carts, "load"): lambda: carts.load(conn, user),
        (carts, "put_item"): lambda: carts.put_item(conn, user, product.sku, 2),
        (carts, "remove_item"): lambda: carts.remove_item(conn, user, make_product(seed).sku),
        (catalog, "find"): lambda: catalog.find(conn, product.sku),
        (catalog, "list_after"): lambda: catalog.list_after(conn, "", limit=10),
        (search, "query_of"): lambda: search.query_of(conn, ["serum"]),
        (search, "find_code"): lambda: search.find_code(conn, product.sku),
        (search, "nearest_words"): lambda: search.nearest_words(conn, ["serumm"]),
        (search, "page"): lambda: _pages_of_a_search(conn),
        (search, "count_facets"): lambda: search.count_facets(conn, search.Match(Search(q="x"), query="'x'")),
        (search, "suggest"): lambda: search.suggest(conn, "'serum'", limit=8),
        (inventory, "find"): lambda: inventory.find(conn, product.sku),
        (inventory, "movements"): lambda: inventory.movements(conn, product.sku, before=None, limit=1),
        (inventory, "move"): lambda: inventory.move(
            conn, Move(sku=product.sku, on_hand=1, reason=Reason.RECEIVED, key=str(uuid7()), moved_by="me")
        ),
        (notifications, "load_context"): lambda: notifications.load_context(
            conn, order.order_number, Notice(NotificationType.REFUND, 1)
        ),
        (notifications, "record_notification"): lambda: notifications.record_notification(
            conn, order_id, Notice(NotificationType.ORDER_CONFIRMATION), NotificationStatus.SENT
        ),
        (orders, "place"): lambda: orders.place(
            conn, make_place_order(user), order_number=new_order_number(), job_id=new_job_id()
        ),
        (orders, "checkout_state"): lambda: orders.checkout_state(conn, user),
        (orders, "find"): lambda: orders.find(conn, buyer, order.order_number),
        (orders, "find_detail"): lambda: orders.find_detail(conn, buyer, order.order_number),
        (orders, "list_before"): lambda: orders.list_before(conn, buyer, None, limit=10),
        (orders, "cancel_now"): lambda: orders.cancel_now(conn, buyer, order.order_number),
        (orders, "cancel"): lambda: orders.cancel(conn, buyer, order.order_number),
        (outbox, "insert"): lambda: outbox.insert(conn, new_job_id(), ledger.PAYLOAD),
        (outbox, "insert_again"): lambda: outbox.insert_again(
            conn, ledger.PAYLOAD, order_number="wire", request_id=None
        ),
        (outbox, "insert_many"): lambda: outbox.insert_many(
            conn, [outbox.NewJob(ledger.PAYLOAD, f"SKN-00000-0000{number}", "request-1") for number in (1, 2)]
        ),
        (outbox, "insert_all"): lambda: outbox.insert_all(
            conn, [ledger.PAYLOAD] * 2, order_number=None, request_id=None
        ),
        (outbox, "insert_for_relay"): lambda: outbox.insert_for_relay(
            conn, ledger.PAYLOAD, unique_key="wire for the relay", order_number=None
        ),
        (outbox, "make_due"): lambda: outbox.make_due(conn, [refused]),
        (outbox, "tidy_schedule"): lambda: outbox.tidy_schedule(conn, limit=10),
        (outbox, "take_due"): lambda: outbox.take_due(conn, limit=10),
        (outbox, "mark_published"): lambda: outbox.mark_published(conn, [waiting]),
        (outbox, "dead_letter_refused"): lambda: outbox.dead_letter_refused(
            conn, [refused], error_class="X", error_message="x"
        ),
        (lease, "claim"): lambda: ledger.claim_one(conn, waiting.job_id),
        (lease, "settle"): lambda: lease.settle(conn, {leased.job_id: Completed()}, token=token),
        (dead_letter, "dead_letter_unreadable"): lambda: dead_letter.dead_letter_unreadable(
            conn, ledger.enqueue(seed).job_id, error_class="X", error_message="x"
        ),
        (dead_letter, "sweep"): lambda: dead_letter.sweep(conn, [(waiting.job_id, None)], budgets={}),
        (dead_letter, "redrive"): lambda: dead_letter.redrive(conn, [refused.job_id]),
        (timers, "insert"): lambda: timers.insert(conn, new_job_id(), ledger.PAYLOAD, unique_key="wire"),
        (timers, "hasten"): lambda: timers.hasten(conn, "wire"),
        (timers, "move"): lambda: timers.move(conn, "wire", run_at=datetime.now(UTC)),
        (timers, "cancel"): lambda: timers.cancel(conn, "wire"),
        (timers, "cancel_all"): lambda: timers.cancel_all(conn, ["wire", "other"]),
        (timers, "insert_daily"): lambda: timers.insert_daily(conn, new_job_id(), ReconcilePayments()),
        (operations, "cancel"): lambda: operations.cancel(conn, [waiting.job_id]),
        (operations, "list_jobs"): lambda: operations.list_jobs(conn),
        (operations, "retry_now"): lambda: operations.retry_now(conn, [waiting.job_id]),
        (outbox, "take_these"): lambda: outbox.take_these(conn, [waiting.job_id]),
        (dead_letter, "discard"): lambda: dead_letter.discard(conn, [refused.job_id], only_at=[1]),
        (notifications, "suppress_recipient"): lambda: notifications.suppress_recipient(conn, "a@b.c", reason="x"),
        (operations, "backlog"): lambda: operations.backlog(conn),
        **payment_queries(conn, seed),
        **invoice_queries(conn, seed),
        **money_queries(conn, seed),
        **oncall_queries(conn, seed),
        **retention_queries(conn),
        **customer_queries(conn, buyer),
    }


def customer_queries(conn: Connection, buyer: str) -> dict[tuple[ModuleType, str], Query]:
    """Return the calls for what is known of customers; each asks anew, so that there is something to do."""

    def asked(kind: RequestKind) -> int:
        return customers.open_request(conn, kind, buyer, delivered=True)[0]

    return {
        (customers, "accounts"): lambda: customers.accounts(conn, buyer, limit=10),
        (customers, "open_request"): lambda: asked(RequestKind.EXPORT),
        (customers, "requests"): lambda: customers.requests(conn, limit=10),
        (customers, "these"): lambda: customers.these(conn, [1, 2]),
        (customers, "count_overdue"): lambda: customers.count_overdue(
            conn, exports_after=timedelta(days=1), erasures_after=timedelta(days=1)
        ),
        (customers, "exported_key"): lambda: customers.exported_key(conn, 1),
        (customers, "erase"): lambda: customers.erase(conn, asked(RequestKind.ERASE), 1, limit=10),
        (customers, "next_look"): lambda: customers.next_look(
            conn, asked(RequestKind.ERASE), 1, after=timedelta(hours=1)
        ),
        (customers, "account_to_export"): lambda: customers.account_to_export(conn, asked(RequestKind.EXPORT)),
        (customers, "record_exported"): lambda: customers.record_exported(conn, asked(RequestKind.EXPORT), "key"),
        (customers, "account"): lambda: customers.account(conn, buyer),
        (customers, "orders"): lambda: customers.orders(conn, buyer, after=0, limit=10),
    }


def retention_queries(conn: Connection) -> dict[tuple[ModuleType, str], Query]:
    """Return the part of `queries` that is about what is kept, each of every rule."""
    return {
        (retention, "prune"): lambda: [
            retention.prune(conn, function, limit=10, after=None) for _, function in REMOVED
        ],
        (retention, "due"): lambda: [retention.due(conn, rule) for rule, _ in REMOVED],
        (retention, "oldest"): lambda: [retention.oldest(conn, rule) for rule in RULES],
        (retention, "estimated_rows"): lambda: retention.estimated_rows(conn),
    }


def oncall_queries(conn: Connection, seed: Connection) -> dict[tuple[ModuleType, str], Query]:
    """Return the part of `queries` that the on-call engineer asks."""
    order = make_order(seed).order.order_number
    job_id = ledger.enqueue(seed, order_number=order).job_id
    message_id = quarantine.keep(seed, QueueName.PAYMENTS, order, {}, reason="x")
    caller = Caller("me", "invocation-1")
    return {
        (quarantine, "keep"): lambda: quarantine.keep(conn, QueueName.PAYMENTS, order, {}, reason="x"),
        (quarantine, "waiting"): lambda: quarantine.waiting(conn, limit=1),
        (quarantine, "content"): lambda: quarantine.content(conn, message_id),
        (quarantine, "close"): lambda: quarantine.close(conn, message_id),
        (audit, "record"): lambda: audit.record(
            conn, caller, operation="x", reason=None, request={"x": 1}, counts={"x": 1}
        ),
        (dead_jobs, "groups"): lambda: dead_jobs.groups(conn),
        (dead_jobs, "find"): lambda: dead_jobs.find(conn, DeadConditions(), after=job_id, limit=1),
        (dead_jobs, "causes_of"): lambda: dead_jobs.causes_of(conn, [job_id]),
        (found_jobs, "find"): lambda: found_jobs.find(conn, JobConditions("waiting"), after=job_id, limit=1),
        (found_jobs, "ids_beginning_with"): lambda: found_jobs.ids_beginning_with(conn, "job", ["01890000"]),
        (events, "set_aside"): lambda: events.set_aside(conn, [job_id], even_paid=False),
        (events, "jobs_of"): lambda: events.jobs_of(conn, [job_id]),
        (events, "events_of"): lambda: events.events_of(conn, [job_id]),
        (events, "take_up"): lambda: events.take_up(conn, job_id, overdue_flaws=["x"]),
        (events, "newest_set_aside"): lambda: events.newest_set_aside(conn, limit=1),
        (operations, "revive"): lambda: operations.revive(conn, [job_id]),
        (dead_letter, "moved_on"): lambda: dead_letter.moved_on(conn, {job_id: 1}),
        (dead_jobs, "obsolete_reasons"): lambda: dead_jobs.obsolete_reasons(conn, [job_id]),
        (timelines, "jobs"): lambda: timelines.jobs(conn, [job_id]),
        (timelines, "jobs_of_order"): lambda: timelines.jobs_of_order(conn, order, limit=1),
        (timelines, "payload_and_release"): lambda: timelines.payload_and_release(conn, job_id),
        (timelines, "attempts"): lambda: timelines.attempts(conn, job_id),
        (timelines, "order"): lambda: timelines.order(conn, order),
        (mails, "suppressed"): lambda: mails.suppressed(conn, email="a@b.c", reason="x", after=1, limit=1),
        (mails, "lift"): lambda: mails.lift(conn, email="a@b.c", ids=[1]),
        (mails, "is_suppressed"): lambda: mails.is_suppressed(conn, order),
        (mails, "undeliverable"): lambda: mails.undeliverable(conn, order),
        (mails, "forget_undeliverable"): lambda: mails.forget_undeliverable(conn, order, ["order_confirmation"]),
        (backlog, "outbox"): lambda: backlog.outbox(conn),
        (backlog, "payments"): lambda: backlog.payments(conn, limit=1),
        (backlog, "review_event"): lambda: backlog.review_event(conn, job_id),
        (backlog, "resolve_anomaly"): lambda: backlog.resolve_anomaly(conn, 1),
        (pauses, "pause"): lambda: pauses.pause(
            conn, PauseTarget("all"), job_types=None, reason="x", paused_by="me", lasts=timedelta(hours=1)
        ),
        (pauses, "hold_provider"): lambda: pauses.hold_provider(conn, "ses", job_types=["x"], reason="x"),
        (pauses, "active"): lambda: pauses.active(conn),
        (pauses, "of_job"): lambda: pauses.of_job(conn, job_type="x", queue="x"),
        (pauses, "names_in_use"): lambda: (pauses.names_in_use(conn, "type"), pauses.names_in_use(conn, "queue")),
        (pauses, "resume"): lambda: pauses.resume(conn, PauseTarget("all")),
        (acknowledgements, "acknowledge"): lambda: acknowledgements.acknowledge(
            conn, {job_id: 1}, claimed_identity="me", reason="x", lasts=timedelta(days=1)
        ),
        (acknowledgements, "withdraw"): lambda: acknowledgements.withdraw(conn, {job_id: 1}),
        (acknowledgements, "acknowledgements"): lambda: acknowledgements.acknowledgements(conn, [job_id]),
        (acknowledgements, "count_dead"): lambda: acknowledgements.count_dead(conn),
        (dead_jobs, "acknowledged"): lambda: dead_jobs.acknowledged(conn, limit=1),
    }


def payment_queries(conn: Connection, seed: Connection) -> dict[tuple[ModuleType, str], Query]:
    """Return the part of `queries` that is about payments."""
    number = make_order(seed).order.order_number
    paid = PaymentEvent(
        event_id=EventId(uuid7()),
        gateway="doku",
        event_key=number,
        order_number=number,
        transaction_id=number,
        status=EventStatus.PAID,
        amount_rupiah=150_000,
        currency="IDR",
        occurred_at=None,
    )
    report = Report(number, number, "SUCCESS", EventStatus.PAID, 150_000, "IDR", None)

    def store(to: Connection, event_id: EventId, key: str) -> object:
        event = GatewayEvent(key, {}, report)
        job_id = new_job_id()
        return payments.store(
            to, event, gateway="doku", body=b"{}", event_id=event_id, job_id=job_id, request_id="request-1"
        )

    store(seed, paid.event_id, number)
    order = payments.lock_order(seed, number)
    assert order is not None
    wrong = replace(paid, currency="USD")
    return {
        (payments, "store"): lambda: store(conn, EventId(uuid7()), f"{number}-other"),
        (payments, "find_event"): lambda: payments.find_event(conn, paid.event_id),
        (payments, "lock_order"): lambda: payments.lock_order(conn, number),
        (payments, "total_of"): lambda: payments.total_of(conn, number),
        (payments, "is_reported_differently"): lambda: payments.is_reported_differently(
            conn, GatewayEvent(key=number, headers={}, report=report), gateway="doku"
        ),
        (anomalies, "open_work"): lambda: anomalies.open_work(conn),
        (unknown_statuses, "set_aside"): lambda: unknown_statuses.set_aside(conn, number),
        (payments, "mark_applied"): lambda: payments.mark_applied(conn, paid.event_id),
        (payments, "applied_events"): lambda: payments.applied_events(conn, number),
        (payments, "foreign_transactions"): lambda: payments.foreign_transactions(conn, order.id, [paid.transaction]),
        (payments, "save"): lambda: payments.save(
            conn, order, settle(order.status, order.total_rupiah, [paid, wrong]), event_id=paid.event_id
        ),
        (full_payments, "lock_pending"): lambda: full_payments.lock_pending(conn, [paid.event_id]),
        (full_payments, "load_events"): lambda: full_payments.load_events(conn, [paid.event_id], [number]),
        (full_payments, "load_known"): lambda: full_payments.load_known(conn, [order], [paid.transaction]),
        (full_payments, "mark_applied"): lambda: full_payments.mark_applied(conn, [paid.event_id]),
        (full_payments, "save"): lambda: full_payments.save(
            conn, [(order, settle(order.status, order.total_rupiah, [paid]))]
        ),
    }


def invoice_queries(conn: Connection, seed: Connection) -> dict[tuple[ModuleType, str], Query]:
    """Return the part of `queries` that is about invoices."""
    number = pay(seed, make_order(seed).order.order_number)
    (unpaid,) = seed.execute(
        "SELECT id FROM orders WHERE order_number = %s", [make_order(seed).order.order_number]
    ).fetchone() or (0,)
    invoice = invoices.load(seed, number)
    assert invoice is not None
    return {
        (invoices, "take_number"): lambda: invoices.take_number(conn, unpaid),
        (invoices, "take_missing_number"): lambda: invoices.take_missing_number(conn, number),
        (invoices, "load"): lambda: invoices.load(conn, number),
        (invoices, "record_made"): lambda: invoices.record_made(conn, invoice),
        (credit_notes, "issue"): lambda: credit_notes.issue(conn, unpaid, credited_rupiah=1),
        (credit_notes, "load"): lambda: credit_notes.load(conn, number, "CN/2026/000001"),
        (credit_notes, "record_made"): lambda: credit_notes.record_made(
            conn, CreditNote("CN/2026/000001", 1, datetime(2026, 1, 15, tzinfo=UTC), invoice, is_made=False)
        ),
        (credit_notes, "of_order"): lambda: credit_notes.of_order(conn, UserId("ani"), number),
        (invoices, "find"): lambda: invoices.find(conn, UserId("ani"), number),
    }


def money_queries(conn: Connection, seed: Connection) -> dict[tuple[ModuleType, str], Query]:
    """Return the part of `queries` that is about expiry, refunds and reconciliation."""
    number = make_order(seed).order.order_number
    order = payments.lock_order(seed, number)
    assert order is not None
    attempt = Attempt(number, 1, 150_000, datetime(2026, 1, 15, tzinfo=UTC))
    refund = RefundRow("wire-1", number, "doku", number, 1, "x", "x")
    payment = Payment(("doku", number), EventStatus.PAID, refunds=frozenset({("wire-1", 1)}))
    event = PaymentEvent(EventId(uuid7()), "doku", "wire", number, number, EventStatus.PAID, 1, "IDR", None)
    anomaly = Anomaly(event, AnomalyKind.GOODS_GIVEN_BACK)
    return {
        (payments, "quarantine"): lambda: payments.quarantine(conn, EventId(uuid7()), flaw="x"),
        (closing, "load"): lambda: closing.load(conn, number),
        (closing, "which_may_take_money"): lambda: closing.which_may_take_money(conn, [order.id]),
        (orphans, "set_aside"): lambda: orphans.set_aside(conn, after=timedelta(hours=72), limit=1),
        (anomalies, "save_anomalies"): lambda: anomalies.save_anomalies(
            conn, [], order_id=order.id, expected_rupiah=150_000, is_refunded=False
        ),
        (anomalies, "keep_anomaly"): lambda: _refused(
            lambda: anomalies.keep_anomaly(conn, anomaly, order_id=order.id, expected_rupiah=150_000)
        ),
        (refund_effects, "note_refund"): lambda: refund_effects.note_refund(conn, order.id, returned_rupiah=1),
        (refund_effects, "restock"): lambda: refund_effects.restock(conn, order.id),
        (refund_effects, "take_stock_again"): lambda: refund_effects.take_stock_again(conn, order.id),
        (expiry, "knows_of_order"): lambda: expiry.knows_of_order(conn, number),
        (attempts, "of_order"): lambda: attempts.of_order(conn, number, gateway="doku"),
        (attempts, "lock_order"): lambda: attempts.lock_order(conn, UserId("wire"), number),
        (attempts, "find_open"): lambda: attempts.find_open(conn, order.id),
        (attempts, "extend"): lambda: attempts.extend(conn, order.id, window=timedelta(minutes=90)),
        (attempts, "open_next"): lambda: attempts.open_next(conn, order.id, gateway="doku"),
        (attempts, "keep_url"): lambda: attempts.keep_url(conn, attempt, "https://pay.example.com"),
        (attempts, "close"): lambda: attempts.close(conn, attempt),
        (answers, "known_facts"): lambda: answers.known_facts(conn, number),
        (answers, "is_waiting"): lambda: answers.is_waiting(conn, number, "doku", ["x"]),
        (answers, "named_transactions"): lambda: answers.named_transactions(conn, "doku", attempt),
        (expiry, "load"): lambda: expiry.load(conn, number, fresh_for=timedelta(minutes=10)),
        (expiry, "mark_checked"): lambda: expiry.mark_checked(conn, attempt),
        (expiry, "expire"): lambda: expiry.expire(conn, number, attempts=1),
        (refunds, "find"): lambda: refunds.find(conn, "wire-1"),
        (refunds, "refundable"): lambda: refunds.refundable(conn, order.id, transaction_id=None, anomaly_id=1),
        (refunds, "insert"): lambda: _refused(lambda: refunds.insert(conn, order.id, refund)),
        (refunds, "mark_sent"): lambda: refunds.mark_sent(conn, "wire-1"),
        (refunds, "mark_refused"): lambda: refunds.mark_refused(conn, "wire-1", refusal="x"),
        (refunds, "asked_for"): lambda: refunds.asked_for(conn, order.id),
        (refunds, "take_up"): lambda: refunds.take_up(conn, "wire-1"),
        (refunds, "book"): lambda: refunds.book(conn, order.id, [payment]),
        (reconciliation, "unattended"): lambda: reconciliation.unattended(conn, grace=timedelta(days=1), limit=10),
        (looks, "of_events"): lambda: looks.of_events(conn),
        (looks, "of_orders"): lambda: looks.of_orders(conn, None, limit=10),
        (looks, "of_payments"): lambda: looks.of_payments(conn, None, limit=10),
        (looks, "of_stock"): lambda: looks.of_stock(conn, None, limit=10),
        (runs, "open_run"): lambda: runs.open_run(conn),
        (runs, "find_run"): lambda: runs.find_run(conn, 1),
        (runs, "go_on"): lambda: runs.go_on(conn, Run(1, 0, None), step=1, after=None),
        (runs, "finish"): lambda: runs.finish(conn, Run(1, 1, None)),
        (findings, "save"): lambda: findings.save(conn, [Finding("x", "x", None)]),
        (findings, "open_findings"): lambda: findings.open_findings(conn, limit=10),
        (findings, "count_open"): lambda: findings.count_open(conn),
        (findings, "settle"): lambda: findings.settle(conn, 1),
        (findings, "reopen"): lambda: findings.reopen(conn, 1),
        (reconciliation, "gateways_to_ask"): lambda: reconciliation.gateways_to_ask(conn),
        (reconciliation, "attempts_to_ask"): lambda: reconciliation.attempts_to_ask(conn, "doku", limit=10),
        (reconciliation, "mark_asked"): lambda: reconciliation.mark_asked(conn, [attempt]),
    }


def _pages_of_a_search(conn: Connection) -> None:
    """Send a query of each order."""
    for order, key in ((None, "A"), (Sort.PRICE, "1"), (Sort.PRICE_DOWN, "1"), (Sort.NEWEST, ""), (Sort.NAME, "a")):
        search.page(conn, search.Match(Search(sort=order)), order, key=key, after=1, limit=1)
    match = search.Match(Search(q="x"), query="'x'")
    search.page(conn, match, Sort.RELEVANCE, key="0.1", after=1, limit=1)


def _refused(query: Query) -> None:
    """Send a query that a constraint refuses: there is no such payment."""
    with pytest.raises(errors.ForeignKeyViolation):
        query()


def repository_functions() -> set[tuple[str, str]]:
    """Return module and name of every public function of a repository that takes a connection."""
    names = [module.name for module in pkgutil.walk_packages(skincare.__path__, "skincare.")]
    return {
        (name, function)
        for name in names
        if "repository" in name.split(".")
        for function, value in inspect.getmembers(import_module(name), inspect.isfunction)
        if value.__module__ == name and not function.startswith("_") and "conn" in inspect.signature(value).parameters
    }


@pytest.fixture
def seed(owner_url: str) -> Iterator[Connection]:
    with psycopg.connect(owner_url, autocommit=True) as conn:
        yield conn


@pytest.fixture
def wire(database_url: str) -> Iterator[Wire]:
    with Wire(database_url) as wire:
        yield wire


@pytest.fixture
def database(wire: Wire) -> Iterator[Database]:
    database = Database(StaticCredentials(wire.url))
    yield database
    database.close()


class TestOurQueries:
    def test_pin_nothing_however_often_they_run(self, wire: Wire, database: Database, seed: Connection) -> None:
        called = set()
        for _ in range(TIMES):
            with database.connection() as conn:
                for (module, name), query in queries(conn, seed).items():
                    query()
                    called.add((module.__name__, name))
        assert called == repository_functions(), "a repository function is missing in this test"
        statements = [content for kind, content in wire.said() if kind == "P"]
        assert len(statements) >= TIMES * len(called)
        assert wire.pins() == []
        assert len(wire.links) == 1

    def test_pin_nothing_when_they_fail_and_are_rolled_back(self, wire: Wire, database: Database) -> None:
        for _ in range(TIMES):
            with pytest.raises(errors.NotNullViolation), database.connection() as conn, conn.transaction():
                conn.execute("INSERT INTO products (sku) VALUES (%(sku)s)", {"sku": "SKU-1"})
        assert len(wire.said()) > TIMES
        assert wire.pins() == []


class TestTheWire:
    @pytest.mark.parametrize(
        "statement",
        ["SET timezone = 'UTC'", "LISTEN news", "DEALLOCATE ALL", "SELECT set_config('a.b', 'c', false)"],
    )
    def test_hears_a_statement_that_pins(self, wire: Wire, statement: str) -> None:
        with psycopg.connect(wire.url, autocommit=True) as conn:
            conn.execute(statement.encode())
        assert [statement.encode() in content for content in wire.pins()] == [True]

    def test_hears_a_named_statement(self, wire: Wire) -> None:
        with psycopg.connect(wire.url, autocommit=True, prepare_threshold=0) as conn:
            conn.execute("SELECT 1")
        assert wire.pins() != []
