"""An invoice's file from its job to its customer."""

import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from psycopg import Connection

from api.problem import CONTENT_TYPE
from local.invoices import restore_invoices
from skincare.app import App
from skincare.identifiers import OrderNumber
from skincare.invoices.ports import ObjectStoreUnavailable
from skincare.jobs.catalog import GenerateInvoicePdf
from skincare.locales import Locale
from tests.fakes.object_store import FakeObjectStore
from tests.support.factories import make_order, make_product, pay
from tests.support.http import Client, open_app
from tests.support.invoices import numbers, text_of
from tests.support.log import recorded_log
from tests.support.payments import new_order, tell
from worker.handlers import generate_invoice_pdf


@pytest.fixture
def store(app: App) -> FakeObjectStore:
    assert isinstance(app.files, FakeObjectStore)
    return app.files


@pytest.fixture
def wide(database_url: str) -> Iterator[App]:
    """An App for several threads."""
    with open_app(database_url, max_connections=4) as opened:
        yield opened


def generate(app: App, number: OrderNumber) -> None:
    generate_invoice_pdf.handle(GenerateInvoicePdf(order_number=number), app)


def made(conn: Connection) -> list[tuple[str, str | None, bool]]:
    return conn.execute("SELECT number, object_key, made_at IS NOT NULL FROM invoices ORDER BY serial").fetchall()


class TestAnInvoice:
    def test_is_kept_under_its_order_and_version_and_recorded(
        self, app: App, conn: Connection, store: FakeObjectStore
    ) -> None:
        product = make_product(conn, name="Niacinamide Serum", price_rupiah=150_000)
        number = make_order(conn, lines={product.sku: 2}, locale=Locale.EN, recipient_name="Ani").order.order_number
        pay(conn, number)
        conn.execute("UPDATE products SET price_rupiah = 170000, name = 'New Name'")
        generate(app, number)
        ((invoice, key, is_made),) = made(conn)
        assert (key, is_made) == (f"invoices/{number}/{invoice.replace('/', '-')}-v1.pdf", True)
        text = text_of(store.files[str(key)])
        for words in (number, invoice, "Ani", "Niacinamide Serum", "IDR 300,000", "PT Contoh Skincare"):
            assert words in text

    def test_is_made_once_however_often_the_job_runs(self, app: App, conn: Connection, store: FakeObjectStore) -> None:
        number = pay(conn, new_order(conn))
        for _ in range(3):
            generate(app, number)
        assert (store.puts, len(store.files), len(made(conn))) == (1, 1, 1)

    def test_that_was_kept_before_its_row_is_left_as_it_is(
        self, app: App, conn: Connection, store: FakeObjectStore
    ) -> None:
        number = pay(conn, new_order(conn))
        generate(app, number)
        (content,) = store.files.values()
        conn.execute("UPDATE invoices SET object_key = NULL, made_at = NULL")
        conn.execute("UPDATE orders SET recipient_name = 'Somebody Else'")
        generate(app, number)
        assert list(store.files.values()) == [content]
        assert [is_made for _, _, is_made in made(conn)] == [True]

    def test_comes_back_while_the_store_is_away(self, app: App, conn: Connection, store: FakeObjectStore) -> None:
        number = pay(conn, new_order(conn))
        store.fail()
        with pytest.raises(ObjectStoreUnavailable):
            generate(app, number)
        assert [is_made for _, _, is_made in made(conn)] == [False]
        store.fail(failing=False)
        generate(app, number)
        assert [is_made for _, _, is_made in made(conn)] == [True]

    def test_of_each_of_many_orders_holds_its_own(self, wide: App, conn: Connection) -> None:
        placed = [pay(conn, make_order(conn, recipient_name=f"Buyer No. {n}.").order.order_number) for n in range(50)]
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda number: generate(wide, number), placed * 2))
        assert isinstance(wide.files, FakeObjectStore)
        assert len(wide.files.files) == len(placed) == len(set(numbers(conn)))
        for (invoice, key, _), number, n in zip(made(conn), placed, range(50), strict=True):
            text = text_of(wide.files.files[str(key)])
            assert (number in str(key), invoice in text, number in text, f"Buyer No. {n}." in text) == (True,) * 4

    def test_of_an_order_that_is_not_paid_or_gone_is_none(
        self, app: App, conn: Connection, store: FakeObjectStore
    ) -> None:
        with recorded_log() as log:
            for number in (new_order(conn), OrderNumber("SKN-00000-00000")):
                generate(app, number)
        assert [line["message"] for line in log.lines] == ["invoice.order_gone"] * 2
        assert store.files == {}

    def test_with_characters_that_the_font_lacks_is_made_with_a_warning_that_does_not_repeat_them(
        self, app: App, conn: Connection, store: FakeObjectStore
    ) -> None:
        number = make_order(conn, recipient_name="Canary 测试 🌸", shipping_address="Canary 1").order.order_number
        pay(conn, number)
        with recorded_log() as log:
            generate(app, number)
        (warning,) = [line for line in log.lines if line["level"] == "WARNING"]
        assert (warning["message"], warning["order_number"], warning["glyphs"]) == ("invoice.glyphs_unknown", number, 3)
        assert not any(text in log.text for text in ("Canary", "测", json.dumps("测")[1:-1], "example.com/"))
        assert len(store.files) == 1


class TestTheLocalSystem:
    def test_makes_the_files_again_that_its_s3_forgot(self, app: App, conn: Connection, store: FakeObjectStore) -> None:
        number, other = pay(conn, new_order(conn)), pay(conn, new_order(conn))
        generate(app, number)
        before = made(conn)
        files, store.files = store.files, {}
        assert restore_invoices(app, is_kept=lambda key: key in store.files) == 1
        assert (store.files, made(conn)) == (files, before)
        assert other not in "".join(store.files)

    def test_makes_none_again_that_is_kept(self, app: App, conn: Connection, store: FakeObjectStore) -> None:
        numbers = [pay(conn, new_order(conn)) for _ in range(3)]
        for number in numbers:
            generate(app, number)
        said: list[str] = []
        assert restore_invoices(app, is_kept=lambda _: True, say=said.append) == 0
        assert said == []
        lost = sorted(store.files)[0]
        files, store.files = store.files, {key: file for key, file in store.files.items() if key != lost}
        assert restore_invoices(app, is_kept=lambda key: key in store.files, say=said.append) == 1
        assert store.files == files
        assert said[-1] == "Invoices made again: 1 of 1."

    def test_stops_making_them_when_it_is_told_to(self, app: App, conn: Connection) -> None:
        generate(app, pay(conn, new_order(conn)))
        stopping = threading.Event()
        stopping.set()
        assert restore_invoices(app, is_kept=lambda _: False, stopping=stopping) == 0


class TestTheCustomer:
    def test_is_led_to_the_file(self, app: App, conn: Connection) -> None:
        number = pay(conn, make_order(conn, user_id="ani").order.order_number)
        generate(app, number)
        answer = Client(app, "ani").get(f"/v1/orders/{number}/invoice")
        ((invoice, key, _),) = made(conn)
        filename = f"{invoice.replace('/', '-')}.pdf"
        assert (answer.status, answer.body) == (303, {"invoice_number": invoice, "status": "ready"})
        assert answer.headers["location"] == f"https://files.example.com/{key}?filename={filename}&seconds=300"
        assert answer.headers["cache-control"] == "no-store"
        assert "retry-after" not in answer.headers

    def test_is_asked_to_come_back_while_the_file_is_made(self, app: App, conn: Connection) -> None:
        number = pay(conn, make_order(conn, user_id="ani").order.order_number)
        answer = Client(app, "ani").get(f"/v1/orders/{number}/invoice")
        assert (answer.status, answer.body["status"]) == (202, "in_progress")
        assert (answer.headers["retry-after"], answer.headers["cache-control"]) == ("2", "no-store")
        assert "location" not in answer.headers

    def test_gets_the_same_404_for_an_order_of_somebody_else_an_unknown_and_an_unpaid_one(
        self, app: App, conn: Connection
    ) -> None:
        others = pay(conn, make_order(conn, user_id="budi").order.order_number)
        generate(app, others)
        unpaid = make_order(conn, user_id="ani").order.order_number
        answers = [
            Client(app, "ani").get(f"/v1/orders/{number}/invoice") for number in (others, "SKN-00000-00000", unpaid)
        ]
        bodies = [{**answer.body, "request_id": "", "instance": ""} for answer in answers]
        assert [(answer.status, answer.code) for answer in answers] == [(404, "invoice_unknown")] * 3
        assert bodies[0] == bodies[1] == bodies[2]
        assert {answer.headers["content-type"] for answer in answers} == {CONTENT_TYPE}

    def test_needs_a_token(self, app: App, conn: Connection) -> None:
        number = pay(conn, make_order(conn, user_id="ani").order.order_number)
        assert Client(app).get(f"/v1/orders/{number}/invoice").status == 401

    def test_sees_mail_and_invoice_in_the_orders_activity(self, app: App, conn: Connection) -> None:
        number = make_order(conn, user_id="ani").order.order_number
        tell(app, number, "paid")
        answer = Client(app, "ani").get(f"/v1/orders/{number}")
        assert {each["what"]: each["status"] for each in answer.body["activity"]} == {
            "confirmation_email": "waiting",
            "payment_received_email": "waiting",
            "invoice": "waiting",
        }
        assert answer.headers["retry-after"] == "1"
