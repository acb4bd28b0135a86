"""What customers and their tokens say stays out of every log line and every error, whatever an operator switches on."""

import json
import os
import subprocess
import sys

import pytest
from psycopg import Connection

from tests.support.factories import fill_cart, make_product
from tests.support.log import LOUD

CANARY = "canary7f3a"

REQUESTS = """
import json, logging, sys
from unittest.mock import patch
logging.basicConfig(level=logging.DEBUG)
import psycopg
from tests.support.http import call, http_event, open_app
from skincare.errors import PermanentError
C = "canary7f3a"
HEADERS = {
    "authorization": f"Bearer {C}", "cookie": f"session={C}", "x-callback-token": C, "x-forwarded-for": C,
}
CLAIMS = {"sub": f"user-{C}", "email": f"{C}@example.com", "name": C, "phone_number": C, "token_use": C}
BODY = {"recipient_name": C, "shipping_address": C, "note": C}

def ask(method, path, body=None, *, key=f"key-{C}", claims=CLAIMS, query="", **changes):
    headers = HEADERS | {"idempotency-key": key}
    answer = call(app, http_event(method, path, body=body, headers=headers, claims=claims, query=query, **changes))
    problem = answer.text if answer.status >= 400 else ""
    print(json.dumps({"status": answer.status, "problem": problem}), file=sys.stderr)

def ask_while_the_database_fails_with(error):
    with patch("skincare.orders.repository.find_detail", side_effect=error) as fault:
        ask("GET", "/v1/orders/SKN-00000-00000")
    assert fault.call_count == 1, "nothing of what the route calls has failed"

with open_app(sys.argv[1]) as app:
    ask("POST", "/v1/orders", BODY)
    ask("POST", "/v1/orders", BODY)
    ask("POST", "/v1/orders", BODY | {"note": "other"})
    ask("POST", "/v1/orders", BODY, key="another")
    ask("POST", "/v1/orders", BODY, claims=CLAIMS | {"email": f"{C}@@"})
    ask("POST", "/v1/orders", BODY | {C: 1, "note": [C], "recipient_name": C + chr(0)})
    ask("POST", "/v1/orders", '{"note":"' + C)
    ask("POST", "/v1/orders", BODY, key=f"{C},{C}")
    ask("POST", "/v1/orders", BODY, claims={"email": C})
    ask("POST", f"/v1/orders/{C}/cancel")
    ask("GET", f"/v1/orders/{C}")
    ask("GET", f"/v1/products/{C}%00")
    ask("GET", f"/v1/products/{C}")
    ask("GET", "/v1/products", query=f"limit={C}&cursor={C}")
    ask("GET", "/v1/cart", query=f"q={C}&{C}={C}")
    ask("PUT", f"/v1/cart/items/{C}", {"quantity": C})
    ask("GET", f"/{C}")
    ask("DELETE", "/v1/cart")
    for error in (ValueError(C), PermanentError("an error of ours"), psycopg.DataError(C), psycopg.OperationalError(C)):
        ask_while_the_database_fails_with(error)
    with psycopg.connect(sys.argv[1], autocommit=True) as conn:
        try:
            conn.execute("INSERT INTO suppressed_recipients (email, reason) VALUES (%s, '')", [C.upper()])
        except psycopg.errors.CheckViolation as error:
            ask_while_the_database_fails_with(error)
"""


class TestTheLogOfARunWithCanaries:
    @pytest.mark.parametrize("loud", [False, True])
    def test_has_none_and_no_error_answers_one(self, conn: Connection, database_url: str, loud: bool) -> None:
        fill_cart(conn, f"user-{CANARY}", {make_product(conn).sku: 1})
        process = subprocess.run(
            [sys.executable, "-c", REQUESTS, database_url],
            env={**os.environ, **(LOUD if loud else {})},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert process.returncode == 0, process.stderr
        answers = [json.loads(line) for line in process.stderr.splitlines() if line.startswith('{"status"')]
        assert [answer["status"] for answer in answers] == [
            201, 201, 422, 409, 422, 422, 400, 400, 401, 404, 404,
            422, 404, 422, 422, 422, 404, 405, 500, 500, 500, 503, 500,
        ]  # fmt: skip
        assert process.stdout.count("http.request") == len(answers)
        assert CANARY not in process.stdout
        assert CANARY not in process.stderr
        assert CANARY.upper() not in process.stdout
