"""The SQL of the local system: what an operator or the shop's staff would do elsewhere."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from psycopg import Connection

from skincare.identifiers import OrderNumber


@dataclass(frozen=True)
class SeedProduct:
    """A product of the demonstration shop."""

    sku: str
    name: str
    price_rupiah: int
    stock: int


def set_app_password(conn: Connection, password: str) -> None:
    """Let the role that the functions connect as log in with this password."""
    with conn.transaction():
        # ALTER ROLE takes no parameters; format quotes the value on the server.
        conn.execute("SELECT set_config('local.app_password', %(password)s, true)", {"password": password})
        conn.execute("""
            DO $$ BEGIN
                EXECUTE format('ALTER ROLE app PASSWORD %L', current_setting('local.app_password'));
            END $$""")


def add_products(conn: Connection, products: Sequence[SeedProduct]) -> None:
    """Add the products that are not there; the others keep their price and stock."""
    with conn.cursor() as cur:
        cur.executemany(
            """
            INSERT INTO products (sku, name, price_rupiah, stock)
            VALUES (%(sku)s, %(name)s, %(price_rupiah)s, %(stock)s) ON CONFLICT (sku) DO NOTHING""",
            [asdict(product) for product in products],
        )


def publish_again(conn: Connection) -> int:
    """Make every job due whose message may have been on SQS, and return the number of all that are due.

    For a start after the local SQS lost all messages. Only a job for later that was never sent keeps its time:
    any other one that seems unsent may have been sent without its mark, or be hidden from the relay for a minute.
    """
    return conn.execute("""
        UPDATE jobs SET publish_at = least(publish_at, now())
        WHERE publish_at IS NOT NULL
            AND NOT (state = 'pending' AND sends = 0 AND run_at IS NOT NULL AND run_at > now())""").rowcount


def lock_order(conn: Connection, order_number: OrderNumber) -> int | None:
    """Lock an order until the transaction ends; return its id, None where there is none."""
    row = conn.execute(
        "SELECT id FROM orders WHERE order_number = %(order_number)s FOR NO KEY UPDATE", {"order_number": order_number}
    ).fetchone()
    return None if row is None else int(row[0])


def invoice_files(conn: Connection) -> list[tuple[OrderNumber, str]]:
    """Return the orders whose invoice's file was made, with its key, the newest first."""
    rows = conn.execute("""
        SELECT o.order_number, v.object_key FROM orders o JOIN invoices v ON v.order_id = o.id
        WHERE v.made_at IS NOT NULL ORDER BY v.made_at DESC""")
    return [(OrderNumber(order_number), key) for order_number, key in rows]


def credit_note_files(conn: Connection) -> list[tuple[OrderNumber, str, str]]:
    """Return order and number of the credit notes whose file was made, with its key, the newest first."""
    rows = conn.execute("""
        SELECT o.order_number, c.number, c.object_key FROM orders o JOIN credit_notes c ON c.order_id = o.id
        WHERE c.made_at IS NOT NULL ORDER BY c.made_at DESC""")
    return [(OrderNumber(order_number), number, key) for order_number, number, key in rows]


def take_away(conn: Connection, job_id: str, *, longest_s: float) -> bool:
    """Wait until a worker has the job and take the lease from it: what it settles from then on does not count.

    The server looks, for a worker may be done before a client has heard of it. Answers false where nobody has had the
    job after so long. Inside a transaction, which the worker's settling waits for.
    """
    conn.execute(
        "SELECT set_config('chaos.job_id', %s, true),"
        " set_config('chaos.until', (clock_timestamp() + %s * interval '1 s')::text, true)",
        [job_id, longest_s],
    )
    conn.execute(
        """
        DO $$
        BEGIN
            WHILE clock_timestamp() < current_setting('chaos.until')::timestamptz LOOP
                UPDATE jobs SET lease_token = gen_random_uuid()
                WHERE id = current_setting('chaos.job_id')::uuid
                    AND state = 'processing' AND lease_until > clock_timestamp();
                EXIT WHEN FOUND;
                PERFORM pg_sleep(0.0005);
            END LOOP;
        END
        $$"""
    )
    row = conn.execute(
        "SELECT true FROM jobs WHERE id = %(id)s AND state = 'processing' AND lease_until > clock_timestamp()",
        {"id": job_id},
    ).fetchone()
    return row is not None


def sleeps(conn: Connection, pid: int) -> bool:
    """Tell whether a session of the server waits for its next look, as `take_away` does."""
    row = conn.execute("SELECT wait_event = 'PgSleep' FROM pg_stat_activity WHERE pid = %s", [pid]).fetchone()
    return row is not None and bool(row[0])


def end_leases(conn: Connection, job_ids: Sequence[str]) -> None:
    """Let the leases of a dead worker end now: the next claim finds the crash."""
    conn.execute(
        """
        UPDATE jobs SET lease_until = now()
        WHERE id = ANY (%(ids)s::uuid[]) AND state = 'processing' AND lease_until > now()""",
        {"ids": list(job_ids)},
    )
