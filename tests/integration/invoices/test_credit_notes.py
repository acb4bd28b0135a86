"""A refund of an invoiced order has a credit note: numbered without a gap, made once, shown to its customer only."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from psycopg import Connection, errors

from local.invoices import restore_invoices
from skincare.app import App
from skincare.identifiers import OrderNumber
from skincare.invoices.ports import ObjectStoreUnavailable
from skincare.jobs.catalog import GenerateCreditNotePdf, GenerateInvoicePdf, SendRefundEmail
from skincare.locales import Locale
from tests.fakes.object_store import FakeObjectStore
from tests.support.factories import make_order, make_product
from tests.support.http import Client, open_app
from tests.support.invoices import text_of
from tests.support.log import recorded_log
from tests.support.payments import checked, order_status, take_in, tell
from tests.support.randomness import examples
from worker.handlers import generate_credit_note_pdf, generate_invoice_pdf, send_refund_email
from worker.registry import REGISTRY

TOTAL = 150_000


def paid(app: App, conn: Connection, **changes: Any) -> OrderNumber:
    number = make_order(conn, **{"user_id": "ani", "locale": Locale.EN} | changes).order.order_number
    tell(app, number, "paid", f"{number}-one")
    return number


def refund(app: App, number: OrderNumber, amount: int = TOTAL, *, of: str = "one", minute: int = 9) -> None:
    tell(
        app,
        number,
        "refunded",
        f"{number}-{of}",
        minute=minute,
        amount_rupiah=amount,
        refund_id=f"{number}-{of}-{minute}",
    )


def notes(conn: Connection) -> list[tuple[str, int, int]]:
    """Return number without its year, amount and sum of all credit notes."""
    return conn.execute(
        "SELECT regexp_replace(number, '/.*/', '/'), amount_rupiah, credited_rupiah FROM credit_notes"
        " ORDER BY year, serial"
    ).fetchall()


def jobs(conn: Connection, number: OrderNumber) -> list[GenerateCreditNotePdf]:
    rows = conn.execute(
        "SELECT payload FROM jobs WHERE job_type = 'generate_credit_note_pdf' AND order_number = %s ORDER BY id",
        [number],
    )
    return [GenerateCreditNotePdf.model_validate(payload) for (payload,) in rows]


def make(app: App, conn: Connection, number: OrderNumber) -> None:
    for job in jobs(conn, number):
        generate_credit_note_pdf.handle(job, app)


@pytest.fixture
def store(app: App) -> FakeObjectStore:
    assert isinstance(app.files, FakeObjectStore)
    return app.files


class TestARefund:
    def test_of_an_invoiced_order_takes_one_number_however_often_it_is_told(self, app: App, conn: Connection) -> None:
        number = paid(app, conn)
        for _ in range(3):
            refund(app, number)
        tell(app, number, "failed", f"{number}-other", minute=20)
        assert (notes(conn), len(jobs(conn, number))) == ([("CN/000001", TOTAL, TOTAL)], 1)

    def test_in_parts_takes_one_for_each(self, app: App, conn: Connection) -> None:
        number = paid(app, conn)
        refund(app, number, 50_000, minute=1)
        refund(app, number, 100_000, minute=2)
        assert notes(conn) == [("CN/000001", 50_000, 50_000), ("CN/000002", 100_000, TOTAL)]

    def test_known_before_its_payment_takes_it_with_the_invoice(self, app: App, conn: Connection) -> None:
        number = make_order(conn).order.order_number
        refund(app, number)
        assert notes(conn) == []
        tell(app, number, "paid", f"{number}-one")
        assert notes(conn) == [("CN/000001", TOTAL, TOTAL)]
        assert conn.execute("SELECT count(*) FROM invoices").fetchone() == (1,)

    def test_of_a_double_payment_takes_none_for_no_invoice_is_about_it(self, app: App, conn: Connection) -> None:
        number = paid(app, conn)
        tell(app, number, "paid", f"{number}-two", minute=1)
        refund(app, number, of="two")
        assert (order_status(conn, number), notes(conn)) == ("paid", [])
        assert conn.execute("SELECT amount_rupiah, credit_note FROM order_refunds").fetchall() == [(TOTAL, None)]

    def test_of_money_for_a_closed_order_takes_none(self, app: App, conn: Connection) -> None:
        number = make_order(conn, user_id="ani").order.order_number
        Client(app, "ani").cancel(number)
        tell(app, number, "paid", f"{number}-one")
        refund(app, number)
        assert notes(conn) == []

    def test_that_was_not_the_last_word_is_found_by_the_reconciliation(self, app: App, conn: Connection) -> None:
        number = paid(app, conn)
        refund(app, number)
        tell(app, number, "paid", f"{number}-earlier", minute=-5)
        assert order_status(conn, number) == "paid"
        assert [(each.kind, each.order_number) for each in checked(app).findings] == [("credited_though_paid", number)]
        refund(app, number, of="earlier", minute=30)
        assert (checked(app).findings, notes(conn)) == ((), [("CN/000001", TOTAL, TOTAL)])


class TestNumbers:
    def test_have_no_gap_and_no_twin_where_many_refunds_come_at_once(self, database_url: str, conn: Connection) -> None:
        many, threads = 40, 6
        sku = make_product(conn, stock=many).sku
        with open_app(database_url, max_connections=threads) as app, ThreadPoolExecutor(threads) as pool:
            orders = [paid(app, conn, user_id=f"u{n}", lines={sku: 1}) for n in range(many)]
            for number in orders:
                take_in(
                    app,
                    order_number=number,
                    status="refunded",
                    transaction_id=f"{number}-one",
                    event_id=f"refund-{number}",
                    refund_id=number,
                )
            waiting = [job for job in app.publisher.jobs if job.job_type == "process_payment"]  # type: ignore[attr-defined]
            payment = REGISTRY.find("process_payment")
            assert payment is not None
            list(pool.map(lambda job: payment.run(job.payload, app), waiting))
        assert [number for number, _, _ in notes(conn)] == [f"CN/{serial:06}" for serial in range(1, many + 1)]
        assert conn.execute("SELECT stock FROM products WHERE sku = %s", [sku]).fetchone() == (many,)

    def test_are_given_back_by_a_refund_that_does_not_commit(
        self, app: App, conn: Connection, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        first, second = paid(app, conn), paid(app, conn)

        def dies(*_: object, **__: object) -> None:
            raise ConnectionError

        with monkeypatch.context() as patch:
            patch.setattr("skincare.payments.refund_effects.service.outbox.insert_all", dies)
            with pytest.raises(ConnectionError):
                refund(app, first)
        assert (notes(conn), order_status(conn, first)) == ([], "paid")
        assert conn.execute("SELECT DISTINCT stock FROM products").fetchall() == [(9,)]
        refund(app, second)
        assert [number for number, _, _ in notes(conn)] == ["CN/000001"]

    def test_cannot_be_changed_or_taken_away_by_a_function(self, app: App, conn: Connection) -> None:
        refund(app, paid(app, conn))
        for statement in (
            b"UPDATE credit_notes SET amount_rupiah = 1",
            b"DELETE FROM credit_notes",
            b"DELETE FROM credit_note_counters",
            b"UPDATE order_refunds SET amount_rupiah = 1",
            b"DELETE FROM order_refunds",
        ):
            with pytest.raises(errors.InsufficientPrivilege):
                conn.execute(statement)

    @settings(
        max_examples=examples(15),
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=[HealthCheck.function_scoped_fixture],
    )
    @given(
        news=st.lists(
            st.tuples(st.sampled_from(["paid", "refunded"]), st.sampled_from("ab"), st.integers(-9, 9)), max_size=10
        )
    )
    def test_never_credit_more_than_the_invoice_and_no_rupiah_twice(
        self, app: App, conn: Connection, news: list[tuple[str, str, int]]
    ) -> None:
        number = make_order(conn).order.order_number
        for status, transaction, minute in news:
            amount = TOTAL if status == "paid" else 70_000
            tell(app, number, status, f"{number}-{transaction}", minute=minute, amount_rupiah=amount)
        credited = conn.execute(
            "SELECT coalesce(sum(amount_rupiah), 0), coalesce(max(credited_rupiah), 0), count(*)"
            " FROM credit_notes c JOIN orders o ON o.id = c.order_id WHERE o.order_number = %s",
            [number],
        ).fetchone()
        assert credited is not None
        assert credited[0] == credited[1] <= TOTAL
        back = conn.execute(
            "SELECT coalesce(sum(p.refunded_rupiah) FILTER (WHERE p.pays_order), 0)"
            " FROM payments p JOIN orders o ON o.id = p.order_id WHERE o.order_number = %s",
            [number],
        ).fetchone()
        assert back is not None
        found = {each.kind for each in checked(app).findings if each.order_number == number}
        assert credited[0] >= back[0]
        assert (credited[0] > back[0]) == ("credited_though_paid" in found)


class TestTheFile:
    def test_names_the_invoice_that_it_takes_back_whole(
        self, app: App, conn: Connection, store: FakeObjectStore
    ) -> None:
        product = make_product(conn, name="Niacinamide Serum", price_rupiah=75_000)
        number = paid(app, conn, lines={product.sku: 2}, recipient_name="Ani")
        refund(app, number)
        make(app, conn, number)
        [(key, content)] = store.files.items()
        assert key.startswith(f"invoices/{number}/CN-")
        text = text_of(content)
        [(credit_note, invoice)] = conn.execute("SELECT c.number, v.number FROM credit_notes c, invoices v").fetchall()
        for words in ("CREDIT NOTE", credit_note, invoice, number, "Niacinamide Serum", "Ani", "Total credited"):
            assert words in text
        assert ("IDR 150,000" in text, "Includes 11% VAT" in text, "PAID" in text) == (True, True, False)

    def test_of_a_part_says_so_in_one_line(self, app: App, conn: Connection, store: FakeObjectStore) -> None:
        number = paid(app, conn, locale=Locale.ID)
        refund(app, number, 50_000)
        make(app, conn, number)
        text = " ".join(text_of(next(iter(store.files.values()))).split())
        for words in ("NOTA KREDIT", "Pengembalian sebagian atas faktur INV/", "Rp50.000"):
            assert words in text
        assert "Niacinamide" not in text

    def test_is_made_once_beside_the_invoice_however_often_its_job_runs(
        self, app: App, conn: Connection, store: FakeObjectStore
    ) -> None:
        number = paid(app, conn)
        refund(app, number)
        generate_invoice_pdf.handle(GenerateInvoicePdf(order_number=number), app)
        for _ in range(3):
            make(app, conn, number)
        assert (store.puts, len(store.files)) == (2, 2)

    def test_comes_back_while_the_store_is_away(self, app: App, conn: Connection, store: FakeObjectStore) -> None:
        number = paid(app, conn)
        refund(app, number)
        store.fail()
        with pytest.raises(ObjectStoreUnavailable):
            make(app, conn, number)
        store.fail(failing=False)
        make(app, conn, number)
        assert len(store.files) == 1

    def test_is_made_again_by_the_local_system_the_same_byte_for_byte(
        self, app: App, conn: Connection, store: FakeObjectStore
    ) -> None:
        number = paid(app, conn)
        refund(app, number)
        make(app, conn, number)
        files, store.files = store.files, {}
        assert restore_invoices(app, is_kept=lambda key: key in store.files) == 1
        assert store.files == files

    def test_of_another_order_is_not_made(self, app: App, conn: Connection, store: FakeObjectStore) -> None:
        first, second = paid(app, conn), paid(app, conn)
        refund(app, first)
        [job] = jobs(conn, first)
        with recorded_log() as log:
            generate_credit_note_pdf.handle(job.model_copy(update={"order_number": second}), app)
        assert (store.files, [line["message"] for line in log.lines]) == ({}, ["credit_note.gone"])


class TestTheCustomer:
    def test_is_led_to_each_file_once_it_is_made(self, app: App, conn: Connection) -> None:
        number = paid(app, conn)
        refund(app, number, 50_000, minute=1)
        make(app, conn, number)
        refund(app, number, 100_000, minute=2)
        answer = Client(app, "ani").get(f"/v1/orders/{number}/credit-notes")
        assert (answer.status, answer.headers["cache-control"]) == (200, "no-store")
        first, second = answer.body["data"]
        assert (first["amount_rupiah"], first["status"], second["amount_rupiah"], second["status"]) == (
            50_000,
            "ready",
            100_000,
            "in_progress",
        )
        filename = f"{first['credit_note_number'].replace('/', '-')}.pdf"
        assert first["url"] == f"https://files.example.com/invoices/{number}/{filename}?filename={filename}&seconds=300"
        assert (second["url"], first["issued_at"].endswith("Z")) == (None, True)

    def test_of_an_order_without_a_refund_sees_an_empty_list(self, app: App, conn: Connection) -> None:
        assert Client(app, "ani").get(f"/v1/orders/{paid(app, conn)}/credit-notes").body == {"data": []}

    def test_sees_none_of_somebody_else(self, app: App, conn: Connection) -> None:
        number = paid(app, conn)
        refund(app, number)
        for each in (number, "SKN-00000-00000"):
            assert Client(app, "budi").get(f"/v1/orders/{each}/credit-notes").code == "order_unknown"
        assert Client(app).get(f"/v1/orders/{number}/credit-notes").status == 401

    @pytest.mark.parametrize("locale", Locale)
    def test_is_told_its_number_with_the_refund(self, app: App, conn: Connection, locale: Locale) -> None:
        number = paid(app, conn, locale=locale)
        refund(app, number)
        send_refund_email.handle(SendRefundEmail(order_number=number, refund_no=1), app)
        [credit_note] = [row[0] for row in conn.execute("SELECT number FROM credit_notes")]
        [mail] = app.email.sent  # type: ignore[attr-defined]
        assert (credit_note in mail.text, credit_note in mail.html) == (True, True)

    def test_sees_the_refunds_mail_and_credit_note_in_the_orders_activity(self, app: App, conn: Connection) -> None:
        number = paid(app, conn)
        refund(app, number, 50_000, minute=1)
        refund(app, number, 100_000, minute=2)
        send_refund_email.handle(SendRefundEmail(order_number=number, refund_no=1), app)
        activity = Client(app, "ani").get(f"/v1/orders/{number}").body["activity"]
        reported = [
            (each["what"], each["status"]) for each in activity if each["what"] in {"refund_email", "credit_note"}
        ]
        assert sorted(reported) == sorted(
            [
                ("refund_email", "done"),
                ("refund_email", "waiting"),
                ("credit_note", "waiting"),
                ("credit_note", "waiting"),
            ]
        )
