"""`skincare payments refund` and `reconcile`: what they print, and how they say that something cannot be done."""

import json
from collections.abc import Callable

import pytest
from psycopg import Connection
from typer.testing import CliRunner, Result

from cli.main import app as cli
from cli.oncall import OnCall
from skincare.app import App
from tests.support.oncall import InProcess, audit
from tests.support.payments import new_order, tell

Run = Callable[..., Result]


@pytest.fixture
def run(app: App, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setattr(OnCall, "_functions", InProcess(app))

    def run(*arguments: object) -> Result:
        command = ["payments", *map(str, arguments), "--stage", "tests"]
        return CliRunner().invoke(cli, command, catch_exceptions=False)

    return run


class TestRefund:
    def test_is_written_down_once_per_key(self, run: Run, app: App, conn: Connection) -> None:
        number = new_order(conn)
        tell(app, number, "paid")
        command = ("refund", number, "--amount", 5000, "--reason", "damaged", "--key", "k-1")
        results = [run(*command, "--json") for _ in range(2)]
        assert [result.exit_code for result in results] == [0, 0]
        printed = [json.loads(result.stdout) for result in results]
        assert printed[0] == printed[1]
        assert (printed[0]["amount_rupiah"], printed[0]["state"], printed[0]["order_number"]) == (
            5000,
            "requested",
            number,
        )
        assert run(*command).stdout == "Refund k-1 of Rp5.000 to standard_webhooks is requested.\n"
        assert conn.execute("SELECT count(*) FROM refunds").fetchone() == (1,)

    def test_is_audited(self, run: Run, app: App, conn: Connection) -> None:
        number = new_order(conn)
        tell(app, number, "paid")
        assert run("refund", number, "--reason", "damaged").exit_code == 0
        assert audit(conn) == [("refund", "damaged", {"requested": 1})]

    @pytest.mark.parametrize("arguments", [["SKN-00000-00000"], ["ORDER", "--amount", "150001"]])
    def test_that_is_not_possible_says_why_and_changes_nothing(
        self, run: Run, app: App, conn: Connection, arguments: list[str]
    ) -> None:
        number = new_order(conn)
        tell(app, number, "paid")
        result = run("refund", *(number if each == "ORDER" else each for each in arguments), "--reason", "x")
        assert (result.exit_code, result.stdout) == (1, "")
        assert result.stderr.endswith(".\n")
        assert conn.execute("SELECT count(*) FROM refunds").fetchone() == (0,)
        assert audit(conn) == []

    @pytest.mark.parametrize("wrong", [["no-order"], ["SKN-00000-00000", "--key", "a b"]])
    def test_that_is_typed_wrongly_names_the_field(self, run: Run, wrong: list[str]) -> None:
        result = run("refund", *wrong, "--reason", "x")
        assert result.exit_code == 2
        assert ("order number" if len(wrong) == 1 else "key") in result.stderr

    @pytest.mark.parametrize("amount", ["59,000.00", "0", "-5", "5e4", "59.00"])
    def test_of_an_amount_that_could_mean_another_is_refused(self, run: Run, amount: str) -> None:
        result = run("refund", "SKN-00000-00000", "--reason", "x", f"--amount={amount}")
        assert result.exit_code == 2
        assert "amount" in result.stderr

    def test_of_an_amount_as_people_write_it_is_taken(self, run: Run, app: App, conn: Connection) -> None:
        number = new_order(conn)
        tell(app, number, "paid")
        heard = number.removeprefix("SKN-").replace("0", "o").replace("1", "l").lower()
        result = run("refund", heard, "--reason", "damaged", "--amount", "Rp 5.000", "--key", "k-1")
        assert result.stdout == "Refund k-1 of Rp5.000 to standard_webhooks is requested.\n"
        assert conn.execute("SELECT amount_rupiah FROM refunds").fetchone() == (5000,)


class TestReconcile:
    def test_prints_what_it_found(self, run: Run, app: App, conn: Connection) -> None:
        number = new_order(conn)
        tell(app, number, "paid")
        assert run("reconcile").stdout == "0 fixed, 0 to review.\n"
        conn.execute("UPDATE orders SET status = 'refunded'")
        result = run("reconcile")
        assert result.exit_code == 0
        assert number in result.stdout
        assert result.stdout.endswith("0 fixed, 1 to review.\n")
        reported = json.loads(run("reconcile", "--json").stdout)
        assert reported == {"mended": [], "findings": [["order_differs_from_payment", number]], "finished": True}
