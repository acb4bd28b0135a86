"""`skincare customer …`, against the on-call function in this process."""

import json
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from psycopg import Connection
from typer.testing import CliRunner, Result

from cli import customer as command
from cli.main import app as cli
from cli.oncall import OnCall
from skincare.app import App
from tests.support.customers import finish_jobs, run_customer_jobs
from tests.support.factories import fill_cart, make_order, make_product
from tests.support.oncall import InProcess, audit

ANI, ADDRESS = "sub-ani", "ani@example.com"
type Run = Callable[..., Result]


@pytest.fixture
def run(app: App, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setattr(OnCall, "_functions", InProcess(app))
    return lambda *words: CliRunner().invoke(cli, ["customer", *words])


class TestWhoIsMeant:
    @pytest.mark.parametrize("who", [ANI, ADDRESS, ADDRESS.upper(), f" {ADDRESS} "])
    def test_is_an_account_or_the_one_that_ordered_with_an_address(self, run: Run, conn: Connection, who: str) -> None:
        make_order(conn, user_id=ANI, email=ADDRESS)
        make_order(conn, user_id="sub-other", email="other@example.com")
        result = run("erase", who, "--reason", "x", "--json")
        assert result.exit_code == 0, result.output
        assert [request["user_id"] for request in json.loads(result.stdout)] == [ANI]

    def test_of_an_address_that_several_accounts_share_is_asked_back(self, run: Run, conn: Connection) -> None:
        for user_id in ("sub-1", "sub-2"):
            make_order(conn, user_id=user_id, email=ADDRESS)
        result = run("erase", ADDRESS, "--reason", "x")
        assert result.exit_code == 1
        assert "sub-1" in result.stdout
        assert "sub-2" in result.stdout
        assert "--all-accounts" in result.stderr
        assert audit(conn) == []
        both = run("erase", ADDRESS, "--reason", "x", "--all-accounts", "--json")
        assert [request["user_id"] for request in json.loads(both.stdout)] == ["sub-1", "sub-2"]

    def test_is_every_address_that_an_account_had(self, run: Run, conn: Connection) -> None:
        make_order(conn, user_id=ANI, email="before@example.com")
        make_order(conn, user_id=ANI, email=ADDRESS)
        (account,) = json.loads(run("erase", ADDRESS, "--reason", "x", "--dry-run", "--json").stdout)["accounts"]
        assert (account["user_id"], account["orders"], account["addresses"]) == (ANI, 2, 2)

    def test_may_have_a_cart_and_nothing_else(self, run: Run, app: App, conn: Connection) -> None:
        fill_cart(conn, ANI, {make_product(conn).sku: 1})
        assert run("erase", ANI, "--reason", "x").exit_code == 0
        run_customer_jobs(app, conn)
        assert conn.execute("SELECT count(*) FROM carts").fetchone() == (0,)

    def test_is_nobody(self, run: Run, conn: Connection) -> None:
        result = run("export", "nobody@example.com", "--reason", "x")
        assert (result.exit_code, result.stdout) == (1, "")
        assert "nobody@" not in result.stderr
        assert audit(conn) == []

    def test_is_no_longer_somebody_who_was_erased(self, run: Run, app: App, conn: Connection) -> None:
        number = make_order(conn, user_id=ANI, email=ADDRESS).order.order_number
        conn.execute("SELECT * FROM cancel_order(%s, %s)", [ANI, number])
        finish_jobs(conn, number)
        assert run("erase", ADDRESS, "--reason", "x").exit_code == 0
        run_customer_jobs(app, conn)
        pseudonym = str(conn.execute("SELECT user_id FROM orders").fetchall()[0][0])
        for who in (ANI, ADDRESS, "erased@erased.invalid", pseudonym):
            assert run("erase", who, "--reason", "x").exit_code == 1


class TestADryRun:
    def test_says_what_an_erasure_would_wait_for_and_changes_nothing(self, run: Run, conn: Connection) -> None:
        make_order(conn, user_id=ANI, email=ADDRESS)
        result = run("erase", ADDRESS, "--reason", "x", "--dry-run")
        assert result.exit_code == 0
        assert "1 unpaid orders" in result.stdout
        assert ADDRESS not in result.output
        assert (audit(conn), conn.execute("SELECT count(*) FROM customer_requests").fetchone()) == ([], (0,))


class TestRequests:
    def test_show_what_waits_and_what_is_done(self, run: Run, app: App, conn: Connection) -> None:
        assert run("requests").exit_code == 1
        make_order(conn, user_id=ANI, email=ADDRESS)
        run("export", ADDRESS, "--reason", "x")
        run("erase", ADDRESS, "--reason", "x")
        run_customer_jobs(app, conn)
        erasure, export = json.loads(run("requests", "--json").stdout)
        assert (erasure["kind"], erasure["user_id"], erasure["looks"]) == ("erase", ANI, 2)
        assert erasure["waits_for"]["unpaid_orders"] == 1
        assert (export["kind"], export["user_id"], export["has_file"]) == ("export", None, True)
        assert "unpaid orders" in run("requests").stdout


class TestFetch:
    def test_saves_the_file_for_its_owner_alone_and_prints_nothing_of_it(
        self, run: Run, app: App, conn: Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        make_order(conn, user_id=ANI, email=ADDRESS)
        run("export", ADDRESS, "--reason", "x")
        run_customer_jobs(app, conn)
        saved = tmp_path / "export.json"
        monkeypatch.setattr(command, "_fetched", lambda _: b"content")
        result = run("fetch", "1", "--to", str(saved), "--reason", "case 7")
        assert result.exit_code == 0, result.output
        assert "content" not in result.output
        assert (saved.read_bytes(), stat.S_IMODE(saved.stat().st_mode)) == (b"content", 0o600)
        again = run("fetch", "1", "--to", str(saved), "--reason", "case 7")
        assert again.exit_code == 2
        assert len([entry for entry in audit(conn) if entry[0] == "fetch_customer_export"]) == 1
