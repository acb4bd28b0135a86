"""Invoices and credit notes while a year ends: twenty payments and refunds at once leave no gap and no wrong day."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from itertools import count, groupby, pairwise
from random import Random
from typing import Any

import psycopg
import pytest
from psycopg import Connection

from tests.support.factories import make_order, make_product
from tests.support.http import RecordingPublisher, open_app
from tests.support.payments import take_in
from tests.support.randomness import Times
from tests.support.webhooks import NOW
from worker.registry import REGISTRY

TOTAL = 150_000
AT_ONCE = 20


@pytest.fixture
def clock(owner_url: str) -> Iterator[Connection]:
    """The database's clock, which `UPDATE clock.years SET ahead = 1` moves into the next year."""
    with psycopg.connect(owner_url, autocommit=True) as owner:
        owner.execute("CREATE SCHEMA clock")
        owner.execute("CREATE TABLE clock.years AS SELECT 0 AS ahead")
        for name in ("now", "clock_timestamp"):
            owner.execute(
                f"CREATE FUNCTION clock.{name}() RETURNS timestamptz STABLE LANGUAGE sql AS $$"
                f" SELECT pg_catalog.{name}() + (SELECT ahead FROM clock.years) * interval '1 year' $$".encode()
            )
        owner.execute("GRANT USAGE ON SCHEMA clock TO PUBLIC")
        owner.execute("GRANT SELECT ON clock.years TO PUBLIC")
        owner.execute(f'ALTER DATABASE "{owner.info.dbname}" SET search_path = clock, public, pg_catalog'.encode())
        yield owner


class TestNumbersOfPaymentsAndRefundsAtOnce:
    def test_have_no_gap_in_either_year_and_days_that_rise_with_them(
        self, database_url: str, conn: Connection, clock: Connection, times: Times, random_seed: int
    ) -> None:
        chance, orders = Random(random_seed), times(short=25, long=200)
        sku = make_product(conn, stock=orders, price_rupiah=TOTAL).sku
        with open_app(database_url, max_connections=AT_ONCE) as app, ThreadPoolExecutor(AT_ONCE) as pool:
            for _ in range(orders):
                number = make_order(conn, lines={sku: 1}).order.order_number
                for minute, (status, amount) in enumerate(
                    [("paid", TOTAL), ("partially_refunded", 50_000), ("refunded", TOTAL - 50_000)]
                ):
                    refund: dict[str, Any] = {"refund_id": f"{number}-{minute}"} if minute else {}
                    take_in(
                        app,
                        event_id=f"{number}-{minute}",
                        order_number=number,
                        transaction_id=number,
                        status=status,
                        amount_rupiah=amount,
                        occurred_at=(NOW + timedelta(minutes=minute)).isoformat(),
                        **refund,
                    )
            assert isinstance(app.publisher, RecordingPublisher)
            jobs = list(app.publisher.jobs)
            chance.shuffle(jobs)
            payment, began = REGISTRY.find("process_payment"), count(1)
            assert payment is not None

            def run(payload: dict[str, object]) -> None:
                # Late enough for refunds of the old year: they wait for their payment.
                if next(began) == len(jobs) * 2 // 3:
                    clock.execute("UPDATE clock.years SET ahead = 1")
                payment.run(payload, app)

            list(pool.map(run, [job.payload for job in jobs]))
        for table in (b"invoices", b"credit_notes"):
            rows = conn.execute(
                b"SELECT year, serial, created_at, extract(year FROM created_at AT TIME ZONE 'Asia/Jakarta') FROM "
                + table
                + b" ORDER BY year, serial"
            ).fetchall()
            years = [list(rows) for _, rows in groupby(rows, key=lambda row: row[0])]
            assert len(years) == 2
            for issued in years:
                assert [serial for _, serial, _, _ in issued] == list(range(1, len(issued) + 1))
                assert all(earlier[2] <= later[2] for earlier, later in pairwise(issued))
                assert all(year == dated for year, _, _, dated in issued)
        credited = conn.execute("SELECT order_id, sum(amount_rupiah) FROM credit_notes GROUP BY 1").fetchall()
        assert [amount for _, amount in credited] == [TOTAL] * orders
