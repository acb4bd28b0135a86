"""A process is killed at each step between the order and the end of its job; the system comes to rest all the same."""

import os
import signal
import time
from datetime import timedelta

import psycopg
import pytest
from psycopg import Connection

from skincare.jobs.repository import dead_letter
from skincare.jobs.retry import CRASH_LIMIT
from tests.integration.jobs import worker_kills
from tests.support import crash_process
from tests.support.crash_shop import Shop, shop
from tests.support.forked import Forked
from tests.support.randomness import Times
from tests.support.shop import set_stock

__all__ = ["shop"]

BUYERS = 3


@pytest.mark.parametrize("point", crash_process.POINTS)
def test_killed_there_nothing_is_lost_and_a_mail_is_doubled_only_between_send_and_mark(shop: Shop, point: str) -> None:
    role = crash_process.POINTS[point][0]
    # Inside a handler the neighbours are anywhere, also between their own send and mark: there is none then.
    orders = 1 if role == "api" or point in {"loaded", "sent", "mark sent"} else BUYERS
    for number in range(orders):
        if role == "api":
            shop.fill_cart(f"user-{number}")
        else:
            shop.place(f"user-{number}")
    if role == "relay":
        shop.empty_queue()
        shop.let_pass(timedelta(hours=2))
    process = shop.start(role, point, "user-0")
    assert process.wait() == -signal.SIGKILL, "the point was not reached"
    shop.let_pass(timedelta(minutes=2))
    shop.come_to_rest()
    shop.check(orders=orders, mails=orders + (point == "sent"))


def test_killed_inside_the_statement_the_order_is_there_whole_or_not_at_all(shop: Shop, owner_url: str) -> None:
    shop.fill_cart("user-1")
    with psycopg.connect(owner_url) as holder:
        holder.execute("SELECT 1 FROM products FOR UPDATE")
        process = shop.start("api", "", "user-1")
        _wait_until_somebody_waits_for_a_lock(shop.conn)
        process.kill()
        assert process.wait() == -signal.SIGKILL
    _wait_until_nobody_works(shop.conn)
    shop.come_to_rest()
    orders = shop.committed_orders()
    shop.check(orders=orders, mails=orders)
    shop.place("user-2")
    shop.come_to_rest()
    shop.check(orders=orders + 1, mails=orders + 1)


def test_a_published_message_that_vanishes_is_sent_again(shop: Shop) -> None:
    shop.place("user-1")
    shop.empty_queue()
    shop.let_pass(timedelta(hours=1))
    shop.come_to_rest()
    shop.check(orders=1, mails=1)


def test_a_poison_job_kills_its_process_five_times_and_is_dead_lettered_while_its_neighbours_are_done(
    shop: Shop,
) -> None:
    shop.environ["POISON"] = "poison@example.com"
    shop.place("user-0", email="poison@example.com")
    for number in (1, 2):
        shop.place(f"user-{number}")
    kills = 0
    while "dead_letter" not in shop.states("user-0"):
        kills += shop.start("worker", "").wait() == -signal.SIGKILL
        shop.let_pass(timedelta(minutes=2))
        assert kills <= CRASH_LIMIT
    assert kills == CRASH_LIMIT
    assert shop.states("user-1") == shop.states("user-2") == ["completed"]
    attempts = shop.conn.execute("SELECT attempts FROM jobs WHERE state = 'completed'").fetchall()
    assert attempts == [(1,), (1,)]
    assert BUYERS - 1 <= shop.mails() <= 2 * (BUYERS - 1)


def test_a_worker_killed_at_random_loses_nothing_and_completes_nothing_twice(
    shop: Shop, times: Times, random_seed: int
) -> None:
    kills, orders = times(short=10, long=50), times(short=50, long=150)
    set_stock(shop.conn, 1000)
    for number in range(orders):
        shop.place(f"user-{number}")
    killer = Forked(worker_kills.main, kills, random_seed, environ={**os.environ, **shop.environ})
    assert killer.wait(timeout_s=150) == 0
    shop.come_to_rest()
    # Innocent jobs can be under way at five kills, too: they are buried like the poison that they look like.
    buried = [job_id for (job_id,) in shop.conn.execute("SELECT id FROM jobs WHERE state = 'dead_letter'")]
    dead_letter.redrive(shop.conn, buried)
    shop.come_to_rest()
    completions = shop.conn.execute(
        "SELECT count(*), count(DISTINCT job_id) FROM job_attempts WHERE outcome = 'completed'"
    ).fetchone()
    assert completions == (orders, orders)
    reported = shop.conn.execute("SELECT count(*) FROM order_notifications WHERE status = 'sent'").fetchone()
    assert reported == (orders,)
    assert orders <= shop.mails() <= orders + kills * crash_process.LIMITS.threads


def _wait_until_somebody_waits_for_a_lock(conn: Connection) -> None:
    _wait_for(
        conn,
        "SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()",
    )


def _wait_until_nobody_works(conn: Connection) -> None:
    _wait_for(
        conn,
        """SELECT count(*) = 0 FROM pg_stat_activity
        WHERE state = 'active' AND pid <> pg_backend_pid() AND datname = current_database()""",
    )


def _wait_for(conn: Connection, query: str) -> None:
    deadline = time.monotonic() + 20
    while conn.execute(query.encode()).fetchone() != (True,):
        assert time.monotonic() < deadline, query
