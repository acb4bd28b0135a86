"""What becomes of rows that a release of the former numbering wrote, on the way to this one."""

from collections.abc import Iterator
from datetime import timedelta

import psycopg
import pytest
from psycopg import Connection

from skincare.database import migrate as migrator
from tests.support.former_migrations import apply_former

ENDS_BEGIN = "0018"
"""The first migration of the former numbering that knows the end of an order."""
ENDS_ARE_SET = "0019"
DAY = timedelta(hours=24)


def migrate(conninfo: str, after: str = ENDS_BEGIN) -> None:
    """Deploy the last release of the former numbering, then this one."""
    apply_former(conninfo, after=after)
    migrator.migrate(conninfo)


@pytest.fixture
def old(empty: str) -> Iterator[Connection]:
    """A database as the release before left it."""
    apply_former(empty, before=ENDS_BEGIN)
    with psycopg.connect(empty, autocommit=True) as conn:
        conn.execute("INSERT INTO products (sku, name, price_rupiah, stock) VALUES ('SERUM', 'Serum', 150000, 100)")
        yield conn


def place(conn: Connection, number: str, user: str = "ani") -> None:
    """Check out as the release before does."""
    conn.execute("SELECT put_cart_item(%s, 'SERUM', 1, 50)", [user])
    conn.execute(
        "SELECT place_order(p_user_id => %(user)s, p_key => %(number)s, p_fingerprint => '',"
        " p_order_number => %(number)s, p_expected_total_rupiah => NULL, p_email => 'ani@example.com',"
        " p_locale => 'id', p_recipient_name => NULL, p_shipping_address => NULL, p_note => NULL,"
        " p_request_id => 'r', p_job_id => gen_random_uuid(), p_job_type => 'send_confirmation_email',"
        " p_job_queue => 'notifications', p_maximum_lines => 50, p_timer_id => gen_random_uuid(),"
        " p_expires_in => '24 hours 15 minutes', p_trace_id => NULL)",
        {"user": user, "number": number},
    )


def time_to_pay(conn: Connection, number: str) -> tuple[timedelta | None, timedelta]:
    """How long the order may be paid, and when after its checkout its timer goes off."""
    row = conn.execute(
        "SELECT o.expires_at - o.created_at, j.run_at - o.created_at FROM orders o JOIN jobs j USING (order_number)"
        " WHERE o.order_number = %s AND j.job_type = 'expire_order'",
        [number],
    ).fetchone()
    assert row is not None
    return row


class TestOrdersPlacedBefore:
    def test_keep_their_time_and_their_timer(self, empty: str, old: Connection) -> None:
        place(old, "SKN-00000-00001")
        old.execute("UPDATE orders SET created_at = created_at - interval '7 hours'")
        old.execute("UPDATE jobs SET run_at = run_at - interval '7 hours'")
        migrate(empty)
        assert time_to_pay(old, "SKN-00000-00001") == (DAY, timedelta(hours=24, minutes=15))

    def test_that_lost_their_timer_have_a_day(self, empty: str, old: Connection) -> None:
        place(old, "SKN-00000-00001")
        old.execute("DELETE FROM jobs")
        migrate(empty)
        assert old.execute("SELECT expires_at - created_at FROM orders").fetchone() == (DAY,)

    def test_whose_timer_was_moved_end_within_their_day(self, empty: str, old: Connection) -> None:
        for number, moved in enumerate(("-20 hours", "3 hours", "-30 hours")):
            place(old, f"SKN-00000-0000{number}")
            old.execute(
                "UPDATE jobs SET run_at = run_at + %s::interval WHERE order_number = %s",
                [moved, f"SKN-00000-0000{number}"],
            )
        migrate(empty)
        ends = [time_to_pay(old, f"SKN-00000-0000{number}")[0] for number in range(3)]
        assert ends == [timedelta(hours=4), DAY, DAY]

    def test_and_closed_have_none(self, empty: str, old: Connection) -> None:
        place(old, "SKN-00000-00001")
        old.execute("SELECT cancel_order('ani', 'SKN-00000-00001')")
        migrate(empty)
        assert old.execute("SELECT expires_at FROM orders").fetchone() == (None,)

    def test_are_placed_by_the_older_release_during_and_after_the_migration(self, empty: str, old: Connection) -> None:
        apply_former(empty, before=ENDS_ARE_SET, after=ENDS_BEGIN)
        place(old, "SKN-00000-00001")
        migrate(empty, after=ENDS_ARE_SET)
        place(old, "SKN-00000-00002")
        for number in ("SKN-00000-00001", "SKN-00000-00002"):
            assert time_to_pay(old, number) == (DAY, timedelta(hours=24, minutes=15))

    def test_count_against_the_limits_and_have_their_index(self, empty: str, old: Connection) -> None:
        place(old, "SKN-00000-00001")
        migrate(empty)
        row = old.execute("SELECT indisvalid FROM pg_index WHERE indexrelid = 'orders_open_idx'::regclass").fetchone()
        assert row == (True,)
