"""What is known about a customer, in one file that nobody on call has to look into."""

import json
from typing import Any
from unittest.mock import Mock

import pytest
from psycopg import Connection

from oncall.customer_requests import FetchCustomerExport
from skincare.app import App
from skincare.customers import repository, service
from skincare.customers.errors import ExportTooLarge
from skincare.invoices.ports import ObjectStoreUnavailable
from skincare.jobs.catalog import ExportCustomer
from tests.fakes.object_store import FakeObjectStore
from tests.support.customers import ask_export, erase, finish_jobs, run_customer_jobs
from tests.support.factories import fill_cart, make_order, make_product
from tests.support.log import recorded_log
from tests.support.oncall import ME, ask, audit, refused
from tests.support.payments import tell
from worker.handlers import export_customer

ANI = "sub-ani"


def files_of(app: App) -> dict[str, bytes]:
    assert isinstance(app.files, FakeObjectStore)
    return app.files.files


def exported(app: App, conn: Connection, user_id: str = ANI) -> Any:
    """Export an account and return the file's content."""
    (request,) = ask_export(app, user_id)
    run_customer_jobs(app, conn)
    (content,) = (content for key, content in files_of(app).items() if key.startswith(f"exports/{request.id}-"))
    return json.loads(content)


def test_an_export_has_orders_payments_mails_cart_and_documents_of_the_account_alone(
    app: App, conn: Connection
) -> None:
    number = make_order(conn, user_id=ANI, email="ani@example.com", shipping_address="Jalan 1").order.order_number
    tell(app, number, "paid", customer={"name": "Ani"})
    conn.execute(
        "INSERT INTO order_notifications (order_id, notification_type, status) SELECT id, 'payment_received', 'sent'"
        " FROM orders"
    )
    make_order(conn, user_id="sub-other", email="ani@example.com")
    fill_cart(conn, ANI, {make_product(conn, sku="TONER").sku: 2})
    document = exported(app, conn)
    (order,) = document.pop("orders")
    assert (document["account"], [item["sku"] for item in document["cart"]["items"]]) == (ANI, ["TONER"])
    assert [key["order_number"] for key in document["idempotency_keys"]] == [number]
    assert (order["order_number"], order["email"], order["shipping_address"]) == (number, "ani@example.com", "Jalan 1")
    assert order["payments"][0]["amount_rupiah"] == 150_000
    assert order["invoice"]["link_from"] == f"/v1/orders/{number}/invoice"
    assert order["mails"][0]["about"] == "payment_received"
    assert len(order["messages_of_gateways"]) == 1


def test_an_export_has_every_order_however_many_there_are(
    app: App, conn: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "_ORDERS_OF_A_PAGE", 2)
    numbers = [make_order(conn, user_id=ANI).order.order_number for _ in range(5)]
    assert [order["order_number"] for order in exported(app, conn)["orders"]] == numbers


def test_one_that_would_be_without_end_is_given_up(app: App, conn: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "MOST_ORDERS", 1)
    for _ in range(2):
        make_order(conn, user_id=ANI)
    (request,) = ask_export(app, ANI)
    with pytest.raises(ExportTooLarge):
        export_customer.handle(ExportCustomer(customer_request=request.id), app)
    assert files_of(app) == {}


def test_a_failed_upload_and_a_message_twice_leave_one_file(app: App, conn: Connection) -> None:
    make_order(conn, user_id=ANI)
    (request,) = ask_export(app, ANI)
    assert isinstance(app.files, FakeObjectStore)
    app.files.fail()
    with pytest.raises(ObjectStoreUnavailable):
        export_customer.handle(ExportCustomer(customer_request=request.id), app)
    app.files.fail(failing=False)
    for _ in range(2):
        export_customer.handle(ExportCustomer(customer_request=request.id), app)
    (key,) = files_of(app)
    assert conn.execute("SELECT user_id, object_key FROM customer_requests").fetchone() == (None, key)


def test_one_that_is_done_names_nobody_and_does_not_hold_up_an_erasure(app: App, conn: Connection) -> None:
    number = make_order(conn, user_id=ANI).order.order_number
    exported(app, conn)
    conn.execute("SELECT * FROM cancel_order(%s, %s)", [ANI, number])
    finish_jobs(conn, number)
    assert erase(app, conn, ANI) == "erased"


def test_a_crash_before_the_mark_is_made_good_by_the_next_run(
    app: App, conn: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_order(conn, user_id=ANI)
    (request,) = ask_export(app, ANI)
    job = ExportCustomer(customer_request=request.id)
    with monkeypatch.context() as crashing:
        crashing.setattr(repository, "record_exported", Mock(side_effect=KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            export_customer.handle(job, app)
    export_customer.handle(job, app)
    (key,) = (row[0] for row in conn.execute("SELECT object_key FROM customer_requests").fetchall())
    assert key in files_of(app)


class TestALinkToTheFile:
    def test_is_written_down_with_its_reason(self, app: App, conn: Connection) -> None:
        make_order(conn, user_id=ANI)
        (request,) = ask_export(app, ANI)
        run_customer_jobs(app, conn)
        found = ask(app, FetchCustomerExport(claimed_identity=ME, request_id=request.id, reason="case 7"))
        (key,) = files_of(app)
        assert key in found.link
        assert audit(conn)[-1] == ("fetch_customer_export", "case 7", {"handed_out": 1})

    @pytest.mark.parametrize("when", ["before it is written", "a week later", "of nothing"])
    def test_is_not_there(self, app: App, conn: Connection, when: str) -> None:
        make_order(conn, user_id=ANI)
        (request,) = ask_export(app, ANI)
        if when == "a week later":
            run_customer_jobs(app, conn)
            conn.execute("UPDATE customer_requests SET finished_at = now() - interval '7 days'")
        event = {"operation": "fetch_customer_export", "claimed_identity": ME, "reason": "x"}
        refusal = refused(app, event | {"request_id": 99 if when == "of nothing" else request.id})
        assert refusal.error.code == "not_possible"
        assert [entry[0] for entry in audit(conn)] == ["export_customer"]


def test_neither_audit_nor_log_nor_job_names_the_customer(app: App, conn: Connection) -> None:
    canary = "sub-canary7f3a"
    number = make_order(conn, user_id=canary, email="canary7f3a@example.com").order.order_number
    with recorded_log() as log:
        exported(app, conn, canary)
        assert erase(app, conn, canary) == "waits"
        conn.execute("SELECT * FROM cancel_order(%s, %s)", [canary, number])
        finish_jobs(conn, number)
        assert erase(app, conn, canary) == "erased"
    said = str(conn.execute("SELECT to_jsonb(a) FROM operations_audit a").fetchall())
    said += str(conn.execute("SELECT to_jsonb(j) FROM jobs j").fetchall())
    assert "customer.erasure" in log.text
    assert "anary7f3a" not in said + log.text
