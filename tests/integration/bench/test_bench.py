"""What `make bench` does with the real statement and the real schema, in its smallest form."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg import Connection

from bench import floor_function, pgbench
from bench.clients import Clients, Shopping
from bench.environment import BenchDatabase, NotMeasured
from bench.job_life import live
from bench.lives import keep_since, remove_expired, size
from bench.lives import live as live_in_the_server
from bench.rounds import Stalled
from bench.server_cost import ServerCost, hot_share
from bench.shop import PRODUCTS, checkout_statement, fill_carts, make_checkout_without_job, open_shop, place, user
from bench.start import floor_event
from bench.worker import mail_batch
from skincare.database.session import Session
from skincare.identifiers import UserId
from skincare.jobs.envelope import decode


@pytest.fixture
def database(database_url: str, owner_url: str) -> Iterator[BenchDatabase]:
    with psycopg.connect(owner_url, autocommit=True) as owner:
        open_shop(owner)
        yield BenchDatabase(database_url, owner_url, owner)


def orders(owner: Connection) -> int:
    row = owner.execute("SELECT count(*) FROM orders").fetchone()
    assert row is not None
    return int(row[0])


def test_pgbench_checks_carts_out(database: BenchDatabase, tmp_path: Path) -> None:
    fill_carts(database.owner, "pgbench", clients=2, each=3)
    rate = pgbench.check_out(database.url, tmp_path, prefix="pgbench", tag="020", clients=2, each=3)
    assert rate > 0
    assert orders(database.owner) == 6


def test_pgbench_whose_checkouts_are_refused_measures_nothing(database: BenchDatabase, tmp_path: Path) -> None:
    fill_carts(database.owner, "pgbench", clients=1, each=3)
    with pytest.raises(RuntimeError, match="there is no cart to order"):
        pgbench.check_out(database.url, tmp_path, prefix="pgbench", tag="020", clients=2, each=3)


def test_a_batch_of_mails_holds_a_mail_for_each_order_and_nothing_else(database: BenchDatabase) -> None:
    messages = mail_batch(database, "mails", 3)
    assert [decode(message.body).job_type for message in messages] == ["send_confirmation_email"] * 3


def test_the_floor_of_a_start_places_an_order(database: BenchDatabase) -> None:
    fill_carts(database.owner, "floor", clients=1, each=1)
    event = floor_event(database.url, checkout_statement(UserId("floor-0-1")))
    try:
        assert floor_function.lambda_handler(event, None) == {"placed": True}
    finally:
        floor_function._sessions.pop().close()
    assert orders(database.owner) == 1


def test_a_checkout_without_its_job_can_be_made(database: BenchDatabase) -> None:
    make_checkout_without_job(database.owner)


def test_no_customer_wants_more_than_a_customer_may_have(database: BenchDatabase) -> None:
    """A customer may have three unpaid orders and ten unpaid units of a product; nobody here pays."""
    fill_carts(database.owner, "hot", clients=16, each=30, hot=True)
    fill_carts(database.owner, "spread", clients=2, each=100)
    worst = database.owner.execute("SELECT max(quantity) FROM cart_items").fetchone()
    assert worst == (1,)
    place(database.owner, user("hot", 0, 1))
    twice = database.owner.execute("SELECT user_id FROM carts GROUP BY user_id HAVING count(*) > 1").fetchall()
    assert twice == []


class TestClients:
    @pytest.fixture
    def clients(self) -> Iterator[Clients]:
        with Clients(2) as clients:
            yield clients

    def test_place_their_orders(self, database: BenchDatabase, clients: Clients) -> None:
        fill_carts(database.owner, "ours", clients=2, each=3)
        outcome = clients.shop(Shopping(database.url, "one statement", "ours", 3))
        assert (outcome.placed, outcome.refused, len(outcome.latencies_ms)) == (6, 0, 6)

    def test_of_which_one_is_gone_are_replaced_for_the_next_round(
        self, database: BenchDatabase, clients: Clients
    ) -> None:
        fill_carts(database.owner, "ours", clients=2, each=1)
        os.kill(clients._processes[1].pid, signal.SIGKILL)
        with pytest.raises(Stalled, match="ours"):
            clients.shop(_of(database, "ours"))
        assert clients.shop(_of(database, "ours")).placed == 2

    def test_that_cannot_connect_stall_only_this_round(self, database: BenchDatabase, clients: Clients) -> None:
        fill_carts(database.owner, "ours", clients=2, each=1)
        with pytest.raises(Stalled, match="OperationalError"):
            clients.shop(Shopping("postgresql://127.0.0.1:1/", "one statement", "ours", 1))
        assert clients.shop(_of(database, "ours")).placed == 2

    def test_that_wait_for_ever_stall_only_this_round(self, database: BenchDatabase, clients: Clients) -> None:
        fill_carts(database.owner, "ours", clients=2, each=1)
        with psycopg.connect(database.owner_url) as holder:
            holder.execute("LOCK TABLE orders")
            with pytest.raises(Stalled, match="not done in time"):
                clients.shop(_of(database, "ours"), within_s=0.1)
        fill_carts(database.owner, "next", clients=2, each=1)
        assert clients.shop(_of(database, "next")).placed == 2

    def test_whose_checkouts_are_refused_measure_nothing(self, database: BenchDatabase, clients: Clients) -> None:
        fill_carts(database.owner, "ours", clients=1, each=1)
        with pytest.raises(RuntimeError, match="1 of 2 checkouts were refused"):
            clients.shop(_of(database, "ours"))
        fill_carts(database.owner, "next", clients=1, each=1)
        outcome = clients.shop(Shopping(database.url, "one statement", "next", 1, scarce=True))
        assert (outcome.placed, outcome.refused) == (1, 1)


def _of(database: BenchDatabase, prefix: str) -> Shopping:
    return Shopping(database.url, "one statement", prefix, 1)


class TestServerCost:
    def test_counts_what_a_session_makes_the_server_do(self, database: BenchDatabase) -> None:
        with Session.open(database.url) as conn, Session.open(database.url) as idle:
            busy, quiet = ServerCost(database.owner, [conn]), ServerCost(database.owner, [idle])
            conn.execute("SELECT count(*) FROM generate_series(1, 300000)")
            conn.execute("UPDATE products SET stock = stock - 1")
            spent, nothing = busy.lap(), quiet.lap()
            assert spent.cpu_us > 10 * nothing.cpu_us
            assert spent.wal_bytes > 100 * PRODUCTS
            assert busy.lap().cpu_us < spent.cpu_us / 10

    def test_the_share_of_hot_updates_is_that_of_all_updates(self, database: BenchDatabase) -> None:
        with Session.open(database.url) as conn:
            conn.execute("UPDATE products SET stock = stock - 1 WHERE id = 1000")
            assert hot_share(database.owner, "products", conn) == 1
            with pytest.raises(LookupError, match="no update of orders"):
                hot_share(database.owner, "orders", conn)

    def test_a_session_that_is_gone_is_not_measured(self, database: BenchDatabase) -> None:
        with Session.open(database.url) as conn:
            cost = ServerCost(database.owner, [conn])
            database.owner.execute("SELECT pg_terminate_backend(%s, 5000)", [conn.info.backend_pid])
        with pytest.raises(NotMeasured):
            cost.lap()


def test_jobs_of_the_bench_live_to_their_end(database: BenchDatabase) -> None:
    with Session.open(database.url) as conn:
        live(conn, lives=7, batch=4)
        rows = conn.execute("SELECT state, count(*) FROM jobs GROUP BY state").fetchall()
    assert rows == [("completed", 8)]


class TestLives:
    def test_driven_in_the_server_leave_what_a_worker_leaves(self, database: BenchDatabase) -> None:
        left = """
            SELECT j.state, j.attempts, j.sends, j.lease_token IS NULL, j.publish_at IS NULL, a.outcome, count(*)
            FROM jobs j JOIN job_attempts a ON a.job_id = j.id GROUP BY 1, 2, 3, 4, 5, 6"""
        with Session.open(database.url) as conn:
            live(conn, lives=100, batch=100)
            by_a_worker = conn.execute(left).fetchall()
            live_in_the_server(conn, 100)
            both = conn.execute(left).fetchall()
        assert by_a_worker == [("completed", 1, 1, True, True, "completed", 100)]
        assert both == [("completed", 1, 1, True, True, "completed", 200)]

    def test_that_ended_before_the_window_go_and_no_others(self, database: BenchDatabase) -> None:
        with Session.open(database.url) as conn:
            live_in_the_server(conn, 200)
            moment = database.owner.execute("SELECT clock_timestamp()").fetchone()
            assert moment is not None
            live_in_the_server(conn, 100)
            assert remove_expired(conn) == 0
            keep_since(database.owner, moment[0])
            assert remove_expired(conn) == 200
            kept = conn.execute("SELECT count(*), min(created_at) > %s FROM jobs", [moment[0]]).fetchone()
        assert kept == (100, True)
        assert size(database.owner) > 0
