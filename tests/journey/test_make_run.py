import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import uuid
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from emulator.loopback.client import LoopbackClient
from emulator.loopback.ports import free_port
from emulator.postgres import PostgresServer
from emulator.processes.children import is_alive
from local.customer import Customer
from local.tokens import token_issuer
from tests.journey.conftest import Command, Terminals, family_of
from tests.support.local_system import wait_for

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks for children in /proc")

READY = "Ctrl-C stops everything."
WORKERS_READY = "are ready"


def health(url: str) -> tuple[int, Any]:
    answer = LoopbackClient(url).get("/health")
    return answer.status, answer.body


def customer(terminals: Terminals, name: str) -> Customer:
    tokens = token_issuer(terminals.state.secrets().signing_key)
    return Customer(terminals.url, tokens.issue(f"{name}@example.com", expires_in=timedelta(minutes=10)))


def place_order(terminals: Terminals, name: str) -> str:
    """Order something as a customer of this name; return the order's number."""
    client = customer(terminals, name)
    assert client.put_in_cart("LIP-BALM-10", 1).status == 200
    answer = client.order(str(uuid.uuid4()))
    assert answer.status == 201, answer.body
    return str(answer.body["order_number"])


def mails_about(terminals: Terminals, order_number: str) -> list[Any]:
    mails = LoopbackClient(terminals.url).get("/_local/mails").body
    return [mail for mail in mails if order_number in mail["text"]]


def assert_sentence(command: Command, *parts: str) -> None:
    """The command failed, and said nothing but one sentence."""
    assert command.end() == 1
    [line] = command.lines
    assert line.endswith(".")
    for part in parts:
        assert part in line


@pytest.fixture(scope="class")
def shop() -> Iterator[tuple[Terminals, Command]]:
    """A shop that all tests of a class share."""
    terminals = Terminals(free_port())
    command = terminals.start("run")
    command.wait_for_line(READY)
    yield terminals, command
    terminals.close()


class TestARunningShop:
    def test_it_is_healthy_as_soon_as_it_says_so(self, shop: tuple[Terminals, Command]) -> None:
        terminals, _ = shop
        assert health(terminals.url) == (200, {"status": "ok"})
        products = LoopbackClient(terminals.url).get("/v1/products").body["data"]
        assert len(products) >= 12

    @pytest.mark.skipif(not shutil.which("curl"), reason="curl is not installed")
    def test_the_lines_that_it_prints_place_an_order_when_they_are_pasted(
        self, shop: tuple[Terminals, Command]
    ) -> None:
        terminals, command = shop
        pasted = "\n".join(line for line in command.lines if line.startswith("curl"))
        done = subprocess.run(["sh", "-e"], input=pasted, capture_output=True, text=True, timeout=60, check=True)
        cart, end = json.JSONDecoder().raw_decode(done.stdout)
        order = json.loads(done.stdout[end:])
        assert [item["quantity"] for item in cart["items"]] == [1]
        number = order["order_number"]
        wait_for(lambda: mails_about(terminals, number), "the mail")
        [mail] = mails_about(terminals, number)
        assert mail.keys() == {"to", "subject", "text", "html", "sent_at"}
        assert mail["to"] == "ani@example.com"

    def test_a_token_of_the_command_line_is_accepted(self, shop: tuple[Terminals, Command]) -> None:
        terminals, _ = shop
        done = terminals.cli("token", "--email", "buyer@example.com", "--name", "A Buyer", "--locale", "en")
        assert (done.returncode, done.stderr, done.stdout.count("\n")) == (0, "", 1)
        assert LoopbackClient(terminals.url, done.stdout.strip()).get("/v1/cart").status == 200
        assert LoopbackClient(terminals.url, done.stdout.strip()[:-2]).get("/v1/cart").status == 401

    def test_the_command_line_lists_the_jobs(self, shop: tuple[Terminals, Command]) -> None:
        terminals, _ = shop
        number = place_order(terminals, "lister")

        def listed(*options: str) -> list[Any]:
            rows: list[Any] = json.loads(terminals.cli("jobs", "list", "--json", *options).stdout)
            mine = [row for row in rows if row["order_number"] == number]
            return [row for row in mine if row["type"] != "expire_order"]

        wait_for(lambda: listed("--state", "completed"), "the completed job")
        [job] = listed()
        assert (job["type"], job["queue"], job["attempts"]) == ("send_confirmation_email", "notifications", 1)
        assert listed("--state", "dead_letter") == []
        assert number in terminals.cli("jobs", "list").stdout

    def test_the_on_call_engineer_asks_the_function(self, shop: tuple[Terminals, Command]) -> None:
        terminals, _ = shop
        number = place_order(terminals, "asker")
        wait_for(lambda: mails_about(terminals, number), "the mail")
        reported = terminals.cli("order", number)
        assert (reported.returncode, reported.stderr) == (0, "")
        assert "mail sent" in reported.stdout
        assert "asker" not in reported.stdout
        nothing = terminals.cli("dlq", "list")
        assert (nothing.returncode, nothing.stdout) == (1, "Nothing is dead.\n")
        assert terminals.cli("dlq", "redrive", "--all", "--reason", "a try").returncode == 1
        assert terminals.cli("outbox", "--json").returncode == 0

    def test_the_command_line_pays_an_order(self, shop: tuple[Terminals, Command]) -> None:
        terminals, _ = shop
        number = place_order(terminals, "payer")

        def send(*options: str, status: str = "paid") -> list[str]:
            done = terminals.cli("webhook", "send", "--order", number, "--status", status, *options)
            assert (done.returncode, done.stderr) == (0, "")
            return done.stdout.splitlines()

        def order_is(status: str) -> bool:
            body = customer(terminals, "payer").get(f"/v1/orders/{number}").body
            return bool(body["status"] == status)

        for refused in ("--bad-signature", "--old"):
            [line] = send("--gateway", "standard_webhooks", refused)
            assert line.startswith('401 {"type":"urn:skincare:problem:signature_invalid"')
        ok = '200 {"status":"ok"}'
        assert send("--gateway", "midtrans", status="pending") == [ok]
        assert send("--gateway", "doku", "--amount", "1") == [ok]
        assert order_is("pending")
        assert send("--gateway", "standard_webhooks", "--duplicate", "2") == [ok] * 3
        wait_for(lambda: order_is("paid"), "the paid order")
        assert send("--gateway", "standard_webhooks", status="refunded") == [ok]
        wait_for(lambda: order_is("refunded"), "the refunded order")

    def test_the_command_line_tells_the_secret_of_a_gateway(self, shop: tuple[Terminals, Command]) -> None:
        terminals, _ = shop
        secrets = {terminals.cli("webhook", "secret", "--gateway", name).stdout for name in ("doku", "midtrans")}
        assert len(secrets) == 2
        standard = terminals.cli("webhook", "secret", "--gateway", "standard_webhooks").stdout
        assert standard.startswith("whsec_")
        assert standard.count("\n") == 1

    def test_a_webhook_that_makes_no_sense_is_told_so(self, shop: tuple[Terminals, Command]) -> None:
        terminals, _ = shop
        send = ("webhook", "send", "--status", "paid", "--order", "SKN-00000-00000", "--gateway")
        unknown = terminals.cli(*send, "doku")
        assert (unknown.returncode, unknown.stdout) == (1, "")
        assert "say how much with --amount" in unknown.stderr
        timeless = terminals.cli(*send, "xendit", "--old")
        assert (timeless.returncode, timeless.stdout) == (2, "")
        without_fee = terminals.cli(*send, "xendit", "--fee", "705")
        assert (without_fee.returncode, without_fee.stdout) == (2, "")

    def test_a_second_start_on_its_port_gives_one_sentence(self, shop: tuple[Terminals, Command]) -> None:
        terminals, command = shop
        assert_sentence(terminals.start("run"), "runs on port", str(terminals.port), str(command.pid))
        assert_sentence(terminals.start("api"), "runs on port", str(terminals.port))
        assert_sentence(terminals.start("worker"), "run already", str(command.pid))
        assert health(terminals.url)[0] == 200

    def test_containers_that_are_killed_are_replaced(self, shop: tuple[Terminals, Command]) -> None:
        terminals, _ = shop
        servers = ("aws", "database_proxy")
        children = terminals.state.children("run").iterdir()
        containers = [file.stem for file in children if not any(name in file.read_text() for name in servers)]
        assert len(containers) >= 5
        for pid in containers:
            os.kill(int(pid), signal.SIGKILL)
        wait_for(lambda: health(terminals.url)[0] == 200, "health")
        number = place_order(terminals, "patient")
        wait_for(lambda: mails_about(terminals, number), "the mail")

    def test_a_foreign_page_and_an_unsigned_request_get_nothing(self, shop: tuple[Terminals, Command]) -> None:
        terminals, _ = shop
        assert LoopbackClient(terminals.url).get("/v1/cart").status == 401
        assert LoopbackClient(terminals.url).get("/_local/anything").status == 404


class TestStoppingAShop:
    def test_a_signal_in_the_middle_of_its_start_stops_every_child(self, terminals: Terminals) -> None:
        command = terminals.start("run")
        command.wait_for_line("PostgreSQL is up")
        assert_it_stops(terminals, command, signal.SIGINT)


def assert_it_stops(terminals: Terminals, command: Command, number: signal.Signals) -> None:
    """Let a signal stop a system in order, with all that it started, so that its port is free again."""
    family = family_of(command.pid)
    assert len(family) > 10
    command.send(number)
    assert command.end() == 0
    assert [process for process in family if is_alive(process)] == []
    assert "Traceback" not in command.text
    socket.create_server(("127.0.0.1", terminals.port)).close()


class TestAShopThatLosesAPartItCannotReplace:
    def test_it_says_so_once_and_stops_and_the_next_start_has_the_same_data(self, terminals: Terminals) -> None:
        command = terminals.start("run")
        command.wait_for_line("Starting the shop")
        assert health(terminals.url) == (503, {"status": "unavailable", "missing": ["database"]})
        command.wait_for_line(READY)
        assert "http.unavailable" not in command.text
        number = place_order(terminals, "loyal")
        wait_for(lambda: mails_about(terminals, number), "the mail")
        again = f"stopping. `PORT={terminals.port} make run` continues with the same data."

        postgres = int((terminals.state.postgres / "data" / "postmaster.pid").read_text().split()[0])
        assert_it_stops_when_killed(command, postgres, f"PostgreSQL ended (signal 9): {again}")

        command = terminals.start("run")
        command.wait_for_line(READY)
        assert len(mails_about(terminals, number)) == 1
        [aws] = [file for file in terminals.state.children("run").iterdir() if '"aws"' in file.read_text()]
        assert_it_stops_when_killed(command, int(aws.stem), f"SQS and SES (moto) ended (signal 9): {again}")


def assert_it_stops_when_killed(command: Command, pid: int, sentence: str) -> None:
    family = family_of(command.pid)
    os.kill(pid, signal.SIGKILL)
    assert command.end() == 1
    assert command.lines.count(sentence) == 1, command.text
    assert "Traceback" not in command.text
    assert [process for process in family if is_alive(process)] == []


class TestTheApiAndTheWorkersInTwoTerminals:
    def test_work_waits_for_the_workers_and_survives_kills_of_either(self, terminals: Terminals) -> None:
        worker = terminals.start("worker")
        worker.wait_for_line("Waiting for a system")
        api = terminals.start("api")
        api.wait_for_line(READY)
        worker.wait_for_line(WORKERS_READY)
        wait_for(lambda: health(terminals.url)[0] == 200, "health")
        first = place_order(terminals, "first")
        wait_for(lambda: mails_about(terminals, first), "the first mail")

        worker.send(signal.SIGKILL)
        worker.end()
        status, body = health(terminals.url)
        assert (status, body["missing"]) == (
            503,
            [f"worker of {q}" for q in ("payments", "notifications", "documents")],
        )
        second = place_order(terminals, "second")

        worker = terminals.start("worker")
        wait_for(lambda: mails_about(terminals, second), "the second mail")
        worker.send(signal.SIGTERM)
        assert worker.end() == 0

        third = place_order(terminals, "third")
        family = family_of(api.pid)
        api.send(signal.SIGKILL)
        api.end()

        run = terminals.start("run")
        run.wait_for_line(READY)
        assert [process for process in family if is_alive(process)] == []
        wait_for(lambda: mails_about(terminals, third), "the third mail, whose message died with its queue")
        assert [len(mails_about(terminals, number)) for number in (first, second, third)] == [1, 1, 1]
        assert_it_stops(terminals, run, signal.SIGTERM)


class TestWhatCannotStart:
    def test_a_port_of_another_program(self, terminals: Terminals) -> None:
        with socket.create_server(("127.0.0.1", terminals.port)):
            assert_sentence(terminals.start("run"), f"Port {terminals.port} is taken by another program")

    def test_a_port_that_is_no_number(self, terminals: Terminals) -> None:
        assert_sentence(terminals.start("run", PORT="eighty"), "PORT must be a number")

    def test_a_damaged_state_folder_until_it_is_reset(self, terminals: Terminals) -> None:
        terminals.state.folder.mkdir(parents=True)
        (terminals.state.folder / "secrets.json").write_text("{")
        assert_sentence(terminals.start("run"), "cannot be used", "RESET=1")

    def test_a_broken_database_until_this_port_is_reset(self, terminals: Terminals) -> None:
        with PostgresServer(terminals.state.postgres):
            pass
        (terminals.state.postgres / "data" / "global" / "pg_control").write_bytes(b"")
        command = terminals.start("run")
        assert command.end() == 1
        [start, sentence] = command.lines
        assert start == f"Starting the shop on port {terminals.port}."
        assert sentence.startswith("PostgreSQL cannot run on ")
        assert sentence.endswith(f"): `PORT={terminals.port} RESET=1 make run` begins with an empty one.")

    def test_the_command_line_without_a_system(self, terminals: Terminals) -> None:
        for arguments, code in ((["token", "--email", "buyer@example.com"], 1), (["jobs", "list", "--json"], 3)):
            done = terminals.cli(*arguments)
            assert (done.returncode, done.stdout, done.stderr.count("\n")) == (code, "", 1)
            assert f"PORT={terminals.port} make run" in done.stderr

    @pytest.mark.parametrize("arguments", [["token"], ["token", "--email", "nobody"], ["jobs", "list", "--state", "x"]])
    def test_a_mistyped_command_is_told_apart_from_a_failed_one(
        self, terminals: Terminals, arguments: list[str]
    ) -> None:
        assert terminals.cli(*arguments).returncode == 2
