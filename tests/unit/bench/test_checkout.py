"""`make bench` compares the product's own statement, whatever becomes of it."""

import json
import re
from datetime import timedelta
from importlib.resources import files
from uuid import uuid4

import pytest

from bench import pgbench
from bench.shop import JOB_INSERT, checkout_statement, user
from bench.start import floor_event
from bench.stub_sqs import answer_to
from skincare.identifiers import UserId
from skincare.orders.terms import EXPIRY_GRACE, USUAL

OUTPUT = """
transaction type: checkout.sql
number of failed transactions: 0 (0.000%)
latency average = 0.424 ms
initial connection time = 3.214 ms
tps = 2358.490566 (without initial connection time)
"""


class TestTheStatement:
    def test_is_the_one_that_the_repository_sends(self) -> None:
        statement = checkout_statement(UserId("ani"))
        assert "FROM place_order(" in statement.sql
        assert statement.parameters["user_id"] == "ani"
        assert set(re.findall(r"%\((\w+)\)s", statement.sql)) == set(statement.parameters)

    def test_reaches_pgbench_without_a_parameter_of_psycopg(self) -> None:
        script = pgbench.script("prefix", "010")
        assert "%(" not in script
        assert "p_user_id => 'prefix-' || :client_id || '-' || :n" in script
        assert script.startswith("\\set n :n + 1\n")
        assert script.count("\n") == 2

    def test_draws_every_id_anew(self) -> None:
        statement = checkout_statement(UserId("ani"))
        script = pgbench.script("prefix", "010")
        assert {"job_id", "timer_id"} <= set(statement.ids)
        for name in statement.ids:
            assert f"p_{name} => uuidv7()" in script

    def test_can_be_an_event_of_a_process(self) -> None:
        event = floor_event("postgresql://", checkout_statement(UserId("ani")))
        parameters = json.loads(json.dumps(event))["parameters"]
        assert parameters["expires_in"] == f"{(USUAL.window + EXPIRY_GRACE).total_seconds()} seconds"
        assert len(bytes.fromhex(parameters["fingerprint"])) == 32

    def test_has_one_insert_of_a_job_to_leave_out(self) -> None:
        text = files("skincare.database").joinpath("functions/place_order.sql").read_text()
        assert len(JOB_INSERT.findall(text)) == 1


class TestPgbench:
    def test_reports_a_rate(self) -> None:
        assert pgbench.rate(OUTPUT) == 2358.490566

    def test_that_reports_none_is_an_error(self) -> None:
        with pytest.raises(ValueError, match="no rate"):
            pgbench.rate("tps = 12.0 (including reconnection times)")

    @pytest.mark.parametrize(
        ("value", "text"), [(None, "NULL"), (b"\x01\xff", "'\\x01ff'::bytea"), (50, "50"), ("it's", "'it''s'")]
    )
    def test_is_given_values_as_sql(self, value: object, text: str) -> None:
        assert pgbench.literal(value) == text

    def test_is_given_a_time_as_an_interval(self) -> None:
        assert pgbench.literal(timedelta(minutes=2)) == "'120.0 seconds'::interval"

    def test_is_given_nothing_of_a_kind_that_nobody_thought_of(self) -> None:
        with pytest.raises(TypeError, match="UUID"):
            pgbench.literal(uuid4())


class TestUsers:
    def test_have_the_names_that_their_carts_were_filled_under(self) -> None:
        assert user("hot-0", 3, 14) == "hot-0-3-14"


class TestTheStubOfSqs:
    def test_takes_every_entry_of_a_batch(self) -> None:
        answer = answer_to({"Entries": [{"Id": "0", "MessageBody": "a"}, {"Id": "1", "MessageBody": "b"}]})
        assert [entry["Id"] for entry in answer["Successful"]] == ["0", "1"]
        assert answer["Failed"] == []

    def test_takes_a_single_message(self) -> None:
        assert answer_to({"MessageBody": "a"})["MD5OfMessageBody"] == "0cc175b9c0f1b6a831c399e269772661"
