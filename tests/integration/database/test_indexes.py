"""Every index has somebody who needs it: each costs all writers of its table something."""

from collections.abc import Iterator
from types import ModuleType

import psycopg
import pytest
from psycopg import Connection

from skincare.catalog.search import repository as search
from skincare.customers import repository as customers
from skincare.jobs.repository import lease, operations, outbox
from skincare.operations.repository import events, mails
from skincare.orders import repository as orders
from skincare.payments import repository as payments
from skincare.payments.anomalies import repository as anomalies
from skincare.payments.findings.repository import findings, looks
from skincare.payments.reconciliation import repository as reconciliation
from skincare.payments.refunds import repository as refunds
from skincare.retention import repository as retention
from tests.integration.database.test_wire import queries

NEEDED_BY: dict[str, tuple[ModuleType, str]] = {
    "cart_items_added_at_idx": (retention, "prune"),
    "idempotency_keys_created_at_idx": (retention, "prune"),
    "job_pauses_over_at_idx": (lease, "claim"),
    "jobs_order_number_idx": (outbox, "insert_again"),
    "order_notifications_undeliverable_idx": (mails, "undeliverable"),
    "orders_address_idx": (customers, "accounts"),
    "orders_open_idx": (orders, "place"),
    "orders_paid_at_idx": (looks, "of_orders"),
    "orders_pending_idx": (reconciliation, "unattended"),
    "payment_anomalies_open_idx": (anomalies, "open_work"),
    "payment_anomalies_order_id_idx": (anomalies, "save_anomalies"),
    "payment_attempts_created_at_idx": (reconciliation, "attempts_to_ask"),
    "payment_events_body_idx": (retention, "prune"),
    "payment_events_corrected_idx": (anomalies, "open_work"),
    "payment_events_order_number_idx": (payments, "applied_events"),
    "payment_events_unsettled_idx": (anomalies, "open_work"),
    "payments_order_id_idx": (refunds, "refundable"),
    "payments_updated_at_idx": (looks, "of_payments"),
    "product_search_name_idx": (search, "page"),
    "product_search_price_idx": (search, "page"),
    "product_search_words_idx": (search, "suggest"),
    "quarantined_messages_closed_idx": (retention, "prune"),
    "quarantined_messages_open_idx": (operations, "backlog"),
    "reconciliation_findings_gone_idx": (retention, "prune"),
    "reconciliation_findings_open_idx": (findings, "open_findings"),
    "refunds_open_idx": (reconciliation, "unattended"),
    "refunds_order_id_idx": (refunds, "book"),
    "refunds_refused_idx": (looks, "of_events"),
    "search_words_trigrams_idx": (search, "nearest_words"),
    "stock_movements_order_idx": (orders, "cancel"),
    "set_aside_events_at_idx": (events, "newest_set_aside"),
}
"""The statement that an index is for; those of a rule (primary keys, UNIQUE) are needed by the rule."""


@pytest.fixture
def owner(owner_url: str) -> Iterator[Connection]:
    with psycopg.connect(owner_url, autocommit=True) as connection:
        yield connection


def uses(owner: Connection, conn: Connection) -> dict[str, int]:
    """Return how often each index has been used, also by what these two sessions did last."""
    for session in (conn, owner):
        session.execute("SELECT pg_stat_force_next_flush()")
        session.execute("SELECT 1")
    return dict(owner.execute("SELECT indexrelname, idx_scan FROM pg_stat_user_indexes").fetchall())


def test_every_index_of_no_rule_is_declared(owner: Connection) -> None:
    indexes = owner.execute(
        "SELECT c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid"
        " WHERE c.relnamespace = 'public'::regnamespace AND NOT i.indisunique"
    ).fetchall()
    assert {name for (name,) in indexes} == set(NEEDED_BY)


def test_every_declared_index_is_used_by_its_statement(owner: Connection, conn: Connection) -> None:
    """The tables are small, so reading them whole is forbidden here."""
    calls = queries(conn, owner)
    conn.execute("SET enable_seqscan = off")
    unused = []
    for index, needed_by in NEEDED_BY.items():
        before = uses(owner, conn)
        calls[needed_by]()
        if uses(owner, conn)[index] == before[index]:
            unused.append(index)
    assert unused == []


def test_no_index_is_the_beginning_of_another(owner: Connection) -> None:
    """The longer one finds what the shorter one does."""
    doubled = owner.execute(
        """
        SELECT a.indexrelid::regclass::text, b.indexrelid::regclass::text FROM pg_index a
        JOIN pg_index b ON a.indrelid = b.indrelid AND a.indexrelid <> b.indexrelid
        WHERE a.indrelid IN (SELECT oid FROM pg_class WHERE relnamespace = 'public'::regnamespace)
            AND NOT a.indisunique AND a.indpred IS NULL AND b.indpred IS NULL AND a.indexprs IS NULL
            AND (b.indkey::text || ' ') LIKE (a.indkey::text || ' %')"""
    ).fetchall()
    assert doubled == []
