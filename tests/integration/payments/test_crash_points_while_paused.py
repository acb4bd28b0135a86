"""Workers are killed while somebody pauses, resumes and prunes: what is held waits, and all the rest is as without."""

import os
import signal
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from psycopg import Connection

from skincare.database.connection import Database, StaticCredentials
from skincare.jobs.repository import dead_letter
from tests.integration.jobs import worker_kills
from tests.integration.payments.test_crash_points_of_a_payment import check_the_books, pay, pay_many, place
from tests.support import crash_process, ledger
from tests.support.beside import beside
from tests.support.crash_shop import Shop, shop
from tests.support.forked import Forked
from tests.support.invoices import numbers
from tests.support.payments import order_status, payments
from tests.support.randomness import Times
from tests.support.retention import prune_all

__all__ = ["shop"]

POINTS_OF_A_MAIL = [
    point for point, (role, *_) in crash_process.POINTS.items() if role.endswith("worker") and point != "received"
]
"""Those at which the process has claimed."""


def what_happened(shop: Shop) -> tuple[Any, ...]:
    """Return every effect there is, and how far the jobs are."""
    jobs = shop.conn.execute(
        "SELECT id, state, attempts, crashes, dead_letter_no, finished_at FROM jobs WHERE run_at IS NULL ORDER BY id"
    ).fetchall()
    sent = shop.conn.execute("SELECT count(*) FROM order_notifications").fetchone()
    return jobs, sent, shop.mails(), len(payments(shop.conn)), numbers(shop.conn)


def stays_paused(shop: Shop) -> None:
    """Let twenty hours pass, longer than a payment's budget, in which nothing happens."""
    before = what_happened(shop)
    for _ in range(4):
        shop.let_pass(timedelta(hours=5))
        crash_process.relay_once(shop.app)
        crash_process.work_once(shop.app, wait=timedelta(0))
        crash_process.work_once(shop.app, wait=timedelta(0))
    assert what_happened(shop) == before


def killed(shop: Shop, role: str, point: str) -> None:
    shop.environ["PAUSE_AFTER_THE_CLAIM"] = "yes"
    process = shop.start(role, point)
    assert process.wait() == -signal.SIGKILL, "the point was not reached"


class TestAPauseBetweenClaimAndSettle:
    @pytest.mark.parametrize("point", POINTS_OF_A_MAIL)
    def test_of_a_worker_that_is_killed_holds_its_mails_and_loses_none(self, shop: Shop, point: str) -> None:
        orders = 1 if point in {"loaded", "sent", "mark sent"} else 3
        for number in range(orders):
            shop.place(f"user-{number}")
        killed(shop, crash_process.POINTS[point][0], point)
        stays_paused(shop)
        assert ledger.resume(shop.conn, "all")
        shop.come_to_rest()
        shop.check(orders=orders, mails=orders + (point == "sent"))

    @pytest.mark.parametrize("point", crash_process.POINTS_OF_PAYMENTS_IN_A_BATCH)
    def test_of_a_worker_that_is_killed_in_a_batch_leaves_all_of_it_or_none(self, shop: Shop, point: str) -> None:
        orders = [place(shop, f"user-{number}") for number in range(3)]
        shop.come_to_rest()
        for number in orders:
            pay(shop, number)
        killed(shop, crash_process.POINTS_OF_PAYMENTS_IN_A_BATCH[point][0], point)
        assert len(payments(shop.conn)) == (3 if point in {"all committed", "all set off"} else 0)
        stays_paused(shop)
        assert ledger.resume(shop.conn, "all")
        shop.come_to_rest()
        check_the_books(shop, *orders)


def age(owner: Connection) -> int:
    """Let what is over be so for longer than it is kept."""
    return owner.execute(
        "UPDATE jobs SET created_at = now() - interval '100 days', finished_at = now() - interval '100 days'"
        " WHERE id IN (SELECT id FROM jobs WHERE publish_at IS NULL AND finished_at > now() - interval '90 days'"
        " FOR UPDATE SKIP LOCKED)"
    ).rowcount


def test_payments_are_applied_once_by_workers_that_are_killed_at_random_while_pauses_come_and_go_and_jobs_are_pruned(
    shop: Shop, database_url: str, owner_url: str, times: Times, random_seed: int
) -> None:
    kills, count = times(short=8, long=40), times(short=30, long=120)
    orders = pay_many(shop, count)
    mails = shop.mails()
    database = Database(StaticCredentials(database_url))
    with (
        psycopg.connect(database_url, autocommit=True) as person,
        psycopg.connect(owner_url, autocommit=True) as owner,
    ):

        def pause_and_resume() -> None:
            for scope, name in (("all", ""), ("queue", "payments"), ("type", "process_payment")):
                ledger.pause(person, scope, name)
            for scope, name in (("queue", "payments"), ("all", ""), ("type", "process_payment")):
                ledger.resume(person, scope, name)

        def keep_house() -> None:
            age(owner)
            prune_all(database)

        with beside(pause_and_resume, keep_house, pause_s=0.02):
            killer = Forked(worker_kills.main, kills, random_seed, environ={**os.environ, **shop.environ})
            assert killer.wait(timeout_s=150) == 0
        shop.come_to_rest()
        # Innocent jobs can be under way at five kills, too.
        dead = [job_id for (job_id,) in shop.conn.execute("SELECT id FROM jobs WHERE state = 'dead_letter'")]
        age(owner)
        prune_all(database)
        assert set(dead_letter.redrive(shop.conn, dead)) == set(dead)
        shop.come_to_rest()
        age(owner)
        prune_all(database)
    database.close()
    assert shop.conn.execute("SELECT count(*) FROM jobs WHERE run_at IS NULL").fetchone() == (0,)
    assert [number.rpartition("/")[2] for number in numbers(shop.conn)] == [f"{n:06}" for n in range(1, count + 1)]
    assert {order_status(shop.conn, number) for number in orders} == {"paid"}
    assert len(payments(shop.conn)) == count
    assert count <= shop.mails() - mails <= count + kills * crash_process.LIMITS.threads
