"""`skincare payments …` against a database: what it prints, and how it says that it cannot."""

import json
from collections.abc import Iterator
from types import SimpleNamespace

import pytest
from psycopg import Connection
from typer.testing import CliRunner, Result

from cli import payments as command
from cli.main import app as cli
from skincare.app import App
from tests.payments import new_order, tell


@pytest.fixture(autouse=True)
def system(database_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(command, "running_system", lambda: SimpleNamespace(database_url=database_url))
    return iter([None])


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["payments", *arguments])


class TestRefund:
    def test_prints_the_refund_and_writes_it_once_per_key(self, app: App, conn: Connection) -> None:
        number = new_order(conn)
        tell(app, number, "paid")
        results = [run("refund", number, "--amount", "5000", "--reason", "damaged", "--key", "k-1") for _ in range(2)]
        assert [result.exit_code for result in results] == [0, 0]
        printed = [json.loads(result.stdout) for result in results]
        assert printed[0] == printed[1]
        assert (printed[0]["amount_rupiah"], printed[0]["state"], printed[0]["order_number"]) == (
            5000,
            "requested",
            number,
        )
        assert conn.execute("SELECT count(*) FROM refunds").fetchone() == (1,)

    @pytest.mark.parametrize("arguments", [["SKN-00000-00000"], ["ORDER", "--amount", "150001"]])
    def test_says_why_it_is_not_possible(self, app: App, conn: Connection, arguments: list[str]) -> None:
        number = new_order(conn)
        tell(app, number, "paid")
        result = run("refund", *(number if each == "ORDER" else each for each in arguments), "--reason", "x")
        assert (result.exit_code, result.stdout) == (1, "")
        assert result.stderr.endswith(".\n")
        assert conn.execute("SELECT count(*) FROM refunds").fetchone() == (0,)


class TestReconcile:
    def test_prints_what_it_found(self, app: App, conn: Connection) -> None:
        number = new_order(conn)
        tell(app, number, "paid")
        assert run("reconcile").stdout == "0 mended, 0 to look at\n"
        conn.execute("UPDATE orders SET status = 'refunded'")
        result = run("reconcile")
        assert result.exit_code == 0
        assert result.stdout == f"found order_differs_from_payment {number} order {number}\n0 mended, 1 to look at\n"
