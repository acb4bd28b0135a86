from datetime import UTC, datetime, timedelta

import psycopg
import pytest
from psycopg import Connection

from local.repository import SeedProduct, add_products, publish_again, set_app_password
from local.seed import PRODUCTS
from skincare.jobs.repository import outbox
from tests.support.ledger import claim_one, enqueue, let_pass, row


class TestThePasswordOfTheFunctions:
    def test_whatever_is_in_it_the_role_can_log_in_with_it_and_with_no_other(
        self, owner_url: str, database_url: str
    ) -> None:
        with psycopg.connect(database_url) as conn:
            before = conn.info.password
        with psycopg.connect(owner_url, autocommit=True) as owner:
            try:
                set_app_password(owner, "it's \\ a; -- 'secret'")
                psycopg.connect(database_url, password="it's \\ a; -- 'secret'").close()
                with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
                    psycopg.connect(database_url, password=before)
            finally:  # the role is everybody's
                set_app_password(owner, before)


class TestTheProductsOfTheDemonstrationShop:
    def test_there_are_enough_and_one_of_them_is_nearly_and_one_entirely_sold_out(self, conn: Connection) -> None:
        add_products(conn, PRODUCTS)
        assert conn.execute("SELECT count(*) FROM products").fetchone() == (len(PRODUCTS),)
        assert len(PRODUCTS) >= 12
        assert {0, 1} < {product.stock for product in PRODUCTS}

    def test_a_second_start_adds_what_is_new_and_leaves_the_rest_as_it_is(self, conn: Connection) -> None:
        add_products(conn, [SeedProduct("A", "One", 1000, 5)])
        add_products(conn, [SeedProduct("A", "Other", 2000, 9), SeedProduct("B", "Two", 1000, 1)])
        found = conn.execute("SELECT sku, name, price_rupiah, stock FROM products ORDER BY sku").fetchall()
        assert found == [("A", "One", 1000, 5), ("B", "Two", 1000, 1)]


class TestPublishingAgainAfterTheQueuesWereLost:
    def publish_in_s(self, conn: Connection, job_id: object) -> float:
        """How far away the next publication is."""
        found = conn.execute(
            "SELECT extract(epoch FROM publish_at - now())::float FROM jobs WHERE id = %s", [job_id]
        ).fetchone()
        assert found is not None
        return float(found[0])

    def test_a_job_that_was_sent_is_due_at_once(self, conn: Connection) -> None:
        job = enqueue(conn)
        conn.execute("UPDATE jobs SET state = 'queued', sends = 1, publish_at = now() + interval '1 hour'")
        assert publish_again(conn) == 1
        assert self.publish_in_s(conn, job.job_id) <= 0

    @pytest.mark.parametrize("state", ["processing", "retry_waiting", "dead_letter"])
    def test_so_is_one_in_any_other_state_that_a_message_stands_for(self, conn: Connection, state: str) -> None:
        job = enqueue(conn)
        claim_one(conn, job.job_id)
        if state != "processing":
            conn.execute(
                """
                UPDATE jobs SET state = %s, lease_token = NULL, leased_at = NULL, lease_until = NULL,
                    publish_at = now() + interval '1 hour'""",
                [state],
            )
        assert publish_again(conn) == 1
        assert self.publish_in_s(conn, job.job_id) <= 0

    def test_so_is_one_whose_message_never_came_through(self, conn: Connection) -> None:
        """Whether a send that was not marked has failed nobody knows."""
        inserted = enqueue(conn)
        taken = enqueue(conn, run_at=row(conn, inserted.job_id)["now"] - timedelta(minutes=1))
        outbox.take_due(conn, limit=10)
        assert publish_again(conn) == 2
        assert self.publish_in_s(conn, inserted.job_id) <= 0
        assert self.publish_in_s(conn, taken.job_id) <= 0

    def test_one_that_is_due_already_is_counted_and_keeps_its_place(self, conn: Connection) -> None:
        job = enqueue(conn)
        let_pass(conn, timedelta(hours=1))
        assert publish_again(conn) == 1
        assert self.publish_in_s(conn, job.job_id) < -3000

    def test_a_job_for_later_keeps_its_time(self, conn: Connection) -> None:
        later = enqueue(conn, run_at=datetime.now(UTC) + timedelta(hours=3))
        assert publish_again(conn) == 0
        assert self.publish_in_s(conn, later.job_id) > 3 * 3600 - 60

    def test_a_finished_job_stays_finished(self, conn: Connection) -> None:
        job = enqueue(conn)
        conn.execute("UPDATE jobs SET state = 'cancelled', publish_at = NULL")
        assert publish_again(conn) == 0
        assert row(conn, job.job_id)["publish_at"] is None
