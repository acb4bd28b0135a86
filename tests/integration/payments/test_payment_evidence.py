"""What a gateway told us is evidence: the functions may add to it and never rewrite it."""

from typing import Any

import pytest
from psycopg import Connection, errors

from skincare.identifiers import uuid7


def store(conn: Connection, **changes: Any) -> dict[str, Any]:
    """A row for a paid order, as a verified event leaves it; `changes` replace columns."""
    row: dict[str, Any] = {
        "id": uuid7(),
        "gateway": "standard_webhooks",
        "event_key": "event-1",
        "body": b"{}",
        "headers": "{}",
        "order_number": "SKN-AAAAA-AAAAA",
        "transaction_id": "transaction-1",
        "reported_status": "paid",
        "status": "paid",
        "amount_rupiah": 150_000,
        "currency": "IDR",
        "refund_key": None,
        "state": "received",
        "flaw": None,
    } | changes
    columns = ", ".join(row)
    values = ", ".join(f"%({name})s" for name in row)
    conn.execute(f"INSERT INTO payment_events ({columns}) VALUES ({values})", row)
    return row


class TestStoredEvidence:
    @pytest.mark.parametrize(
        "change",
        [
            "body = 'x'",
            "status = 'refunded'",
            "amount_rupiah = 1",
            "order_number = 'SKN-BBBBB-BBBBB'",
            "event_key = 'x'",
            "attempt_no = 1",
            "refund_key = 'x'",
        ],
    )
    def test_is_not_rewritten(self, conn: Connection, change: str) -> None:
        store(conn)
        with pytest.raises(errors.InsufficientPrivilege):
            conn.execute(f"UPDATE payment_events SET {change}")

    def test_is_not_deleted(self, conn: Connection) -> None:
        store(conn)
        with pytest.raises(errors.InsufficientPrivilege):
            conn.execute("DELETE FROM payment_events")

    def test_gets_a_note_of_what_became_of_it(self, conn: Connection) -> None:
        store(conn)
        conn.execute("UPDATE payment_events SET state = 'applied', applied_at = now()")
        assert conn.execute("SELECT state FROM payment_events").fetchall() == [("applied",)]

    def test_keeps_a_key_once_per_gateway(self, conn: Connection) -> None:
        store(conn)
        store(conn, id=uuid7(), gateway="doku")
        with pytest.raises(errors.UniqueViolation):
            store(conn, id=uuid7())

    @pytest.mark.parametrize(
        ("changes", "constraint"),
        [
            ({"order_number": None}, "can_be_applied"),
            ({"amount_rupiah": None}, "can_be_applied"),
            ({"status": None}, "can_be_applied"),
            ({"status": "refunded"}, "refunds_are_told_apart"),
            ({"flaw": "something"}, "flaw_is_told"),
            ({"state": "quarantined"}, "flaw_is_told"),
            ({"state": "applied"}, "applied_at_a_time"),
        ],
    )
    def test_that_cannot_be_applied_does_not_pass_as_such(
        self, conn: Connection, changes: dict[str, Any], constraint: str
    ) -> None:
        with pytest.raises(errors.CheckViolation) as refused:
            store(conn, **changes)
        assert refused.value.diag.constraint_name == f"payment_events_{constraint}"

    def test_of_any_bytes_waits_for_a_person(self, conn: Connection) -> None:
        nothing = dict.fromkeys(
            ("order_number", "transaction_id", "reported_status", "status", "amount_rupiah", "currency")
        )
        body = bytes(range(256))
        store(conn, **nothing, body=body, state="quarantined", flaw="order_number is not text")
        assert conn.execute("SELECT body FROM payment_events").fetchone() == (body,)
