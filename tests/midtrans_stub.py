"""Midtrans as its documentation describes it, on a loopback port: Snap, status, expire and refund."""

import base64
import json
import re
import threading
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

_PATH = re.compile(r"/v2/([^/]+)/(status|refund|expire)")


class MidtransStub:
    """Answers with HTTP statuses and bodies like those of the sandbox."""

    def __init__(self, server_key: str) -> None:
        self.transactions: dict[str, dict[str, Any]] = {}
        """By order_id: what a status call answers."""
        self.pages: list[dict[str, Any]] = []
        """The bodies that asked for a Snap page."""
        self._authorization = "Basic " + base64.b64encode(f"{server_key}:".encode()).decode()
        stub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                self._reply(*stub._get(self.path) if self._allowed() else (401, _refusal("401", "Unauthorized")))

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                self._reply(*stub._post(self.path, body) if self._allowed() else (401, _refusal("401", "Unauthorized")))

            def _allowed(self) -> bool:
                return self.headers.get("authorization") == stub._authorization

            def _reply(self, status: int, body: dict[str, Any]) -> None:
                content = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> "MidtransStub":
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def settle(self, order_id: str, **changes: Any) -> None:
        """Let a customer pay at the page of an order_id."""
        (asked,) = {
            page["transaction_details"]["gross_amount"]
            for page in self.pages
            if page["transaction_details"]["order_id"] == order_id
        }
        self.transactions[order_id] = {
            "status_code": "200",
            "status_message": "Success, transaction is found",
            "transaction_id": str(uuid.uuid4()),
            "order_id": order_id,
            "gross_amount": f"{asked}.00",
            "currency": "IDR",
            "payment_type": "qris",
            "transaction_time": "2026-01-15 09:59:58",
            "settlement_time": "2026-01-15 10:00:03",
            "transaction_status": "settlement",
            "fraud_status": "accept",
            "merchant_id": "G000000000",
        } | changes

    def _get(self, path: str) -> tuple[int, dict[str, Any]]:
        match = _PATH.fullmatch(path)
        found = self._find(match[1]) if match else None
        return (200, found) if found else (404, _refusal("404", "Transaction doesn't exist."))

    def _post(self, path: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        if path == "/snap/v1/transactions":
            return self._snap(body)
        match = _PATH.fullmatch(path)
        found = self._find(match[1]) if match else None
        if found is None:
            return 404, _refusal("404", "Transaction doesn't exist.")
        return self._expire(found) if match and match[2] == "expire" else self._refund(found, body)

    def _expire(self, found: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        if found["transaction_status"] != "pending":
            return 200, _refusal("412", "Merchant cannot modify the status of the transaction")
        found |= {"transaction_status": "expire", "status_code": "407"}
        return 200, dict(found) | {"status_message": "Success, transaction has expired"}

    def _snap(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        if body["transaction_details"]["order_id"] in self.transactions:
            return 400, {"error_messages": ["transaction_details.order_id has already been taken"]}
        self.pages.append(body)
        token = str(uuid.uuid4())
        return 201, {"token": token, "redirect_url": f"https://app.sandbox.midtrans.com/snap/v4/redirection/{token}"}

    def _refund(self, found: dict[str, Any], body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        if found["transaction_status"] == "capture":
            return 200, _refusal("412", "Merchant cannot modify the status of the transaction")
        refunds = found.setdefault("refunds", [])
        if all(refund["refund_key"] != body["refund_key"] for refund in refunds):
            total = round(float(found["gross_amount"]))
            left = total - sum(round(float(refund["refund_amount"])) for refund in refunds)
            if body["amount"] > left:
                return 200, _refusal("412", "Merchant cannot modify the status of the transaction")
            refunds.append(
                {
                    "refund_chargeback_id": len(refunds) + 1,
                    "refund_amount": f"{body['amount']}.00",
                    "created_at": "2026-01-16 09:00:00",
                    "reason": body["reason"],
                    "refund_key": body["refund_key"],
                }
            )
            found["transaction_status"] = "refund" if body["amount"] == left else "partial_refund"
            found["refund_amount"] = f"{total - left + body['amount']}.00"
        return 200, {"status_code": "200", "refund_key": body["refund_key"], "order_id": found["order_id"]}

    def _find(self, name: str) -> dict[str, Any] | None:
        return next(
            (each for each in self.transactions.values() if name in {each["order_id"], each["transaction_id"]}), None
        )


def _refusal(code: str, message: str) -> dict[str, Any]:
    return {"status_code": code, "status_message": message, "id": str(uuid.uuid4())}
