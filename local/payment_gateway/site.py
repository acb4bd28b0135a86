"""What the gateway answers: its API for the shop and, for the shop's customer, a page with buttons."""

import base64
import hmac
import json
import re
import threading
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from werkzeug import Request, Response

from local.logbook import LogBook
from local.page.site import STATIC_HEADERS, STATIC_TYPES, CsrfToken, json_body
from local.payment_gateway.book import Book, Entry, Payment
from local.payment_gateway.sender import Sender
from local.problems import Refused
from local.settings import PAYMENT_API
from local.webhook_delivery import Delivery
from skincare.payments.models import attempt_named

PAGE = "/_local/pay/"
_STATE = PAGE + "state"
_ACT = PAGE + "act"

_TRANSACTIONS = re.compile(rf"{PAYMENT_API}/payments/([^/]+)/transactions")
_CLOSE = re.compile(rf"{PAYMENT_API}/payments/([^/]+)/close")
_REFUNDS = re.compile(rf"{PAYMENT_API}/transactions/([^/]+)/refunds")
_STATIC = Path(__file__).parent / "static"
_ACTIONS = {"pay": "paid", "fail": "failed", "expire": "expired", "refund": "refunded"}
_AGAIN = "again"


class PaymentSite:
    """Answers requests that the local gateway found to come from this machine under a name of this machine."""

    def __init__(self, book: Book, sender: Sender, *, shop_url: str, api_key: str, log: LogBook) -> None:
        self._book = book
        self._sender = sender
        self._shop_url = shop_url
        self._authorization = "Basic " + base64.b64encode(f"{api_key}:".encode()).decode()
        self._log = log
        self._csrf = CsrfToken()
        self._files = {PAGE if file.name == "index.html" else PAGE + file.name: file for file in _STATIC.iterdir()}

    def answer(self, request: Request) -> Response | None:
        """Return the answer, None where there is nothing at this path; raises `Refused`."""
        if request.path.startswith(f"{PAYMENT_API}/"):
            return self._api(request)
        response = self._page(request)
        if response is not None:
            response.headers.update(STATIC_HEADERS)
        return response

    def _api(self, request: Request) -> Response | None:
        sent = request.headers.get("Authorization", "")
        if not hmac.compare_digest(sent.encode(), self._authorization.encode()):
            raise Refused(401, "unauthenticated", "Unauthorized", "Send the key of the shop.")
        if request.method == "POST" and request.path == f"{PAYMENT_API}/payments":
            wishes = json_body(request)
            payment = self._book.open(
                _text(wishes, "reference"), _rupiah(wishes, "amount_rupiah"), _moment(wishes, "expires_at")
            )
            return _json({"url": f"{self._shop_url}{PAGE}?reference={quote(payment.reference)}"}, 201)
        if request.method == "GET" and (match := _TRANSACTIONS.fullmatch(request.path)):
            payment = self._book.find(match[1])
            return _json({"transactions": [_reported(payment, entry) for entry in payment.entries]})
        if request.method == "POST" and (match := _CLOSE.fullmatch(request.path)):
            return _json({"state": self._book.close(match[1]).state})
        if request.method == "POST" and (match := _REFUNDS.fullmatch(request.path)):
            wishes = json_body(request)
            payment, entry, is_new = self._book.refund(
                match[1], _rupiah(wishes, "amount_rupiah"), _text(wishes, "refund_id")
            )
            if is_new:
                # After the answer, as a gateway does: the shop may not have stored what it asked for.
                threading.Thread(target=self._tell, args=(payment, entry), name="refund", daemon=True).start()
            return _json(_reported(payment, entry), 201)
        return None

    def _page(self, request: Request) -> Response | None:
        reads = request.method in {"GET", "HEAD"}
        if reads and (file := self._files.get(request.path)):
            return Response(file.read_bytes(), content_type=STATIC_TYPES[file.suffix])
        if reads and request.path == _STATE:
            payment = self._book.find(request.args.get("reference", ""))
            return _json({"csrf_token": self._csrf.value, "payment": _shown(payment)})
        if request.method == "POST" and request.path == _ACT:
            self._csrf.check(request)
            return self._act(json_body(request))
        return None

    def _act(self, wishes: dict[str, Any]) -> Response:
        """Do what a customer, or the gateway's staff, would do, and tell the shop."""
        reference, action = _text(wishes, "reference"), _text(wishes, "action")
        try:
            delivery = Delivery(_text(wishes, "delivery"))
        except ValueError:
            raise _invalid("delivery") from None
        if action == _AGAIN:
            payment = self._book.find(reference)
            if not payment.entries:
                raise Refused(409, "payment_refused", "The gateway refuses", "Nothing has happened yet.")
            entry = payment.entries[-1]
        elif action in _ACTIONS:
            payment, entry = self._book.happen(reference, _ACTIONS[action])
        else:
            raise _invalid("action")
        answers = self._sender.send(payment, entry, delivery)
        return _json({"payment": _shown(payment), "answers": [asdict(told) for told in answers]})

    def _tell(self, payment: Payment, entry: Entry) -> None:
        (told,) = self._sender.send(payment, entry, Delivery.ONCE)
        self._log.event("payment-gateway", "webhook.sent", status=told.status, event_status=entry.status)


def _reported(payment: Payment, entry: Entry) -> dict[str, Any]:
    """Return an entry as the API and the webhooks tell it."""
    return {
        "event_id": entry.event_id,
        "order_number": payment.reference,
        "transaction_id": entry.transaction_id,
        "status": entry.status,
        "amount_rupiah": entry.amount_rupiah,
        "currency": "IDR",
        "occurred_at": entry.occurred_at,
        "refund_id": entry.refund_id,
    }


def _shown(payment: Payment) -> dict[str, Any]:
    order_number, attempt_no = attempt_named(payment.reference)
    return {
        "order_number": order_number,
        "attempt_no": attempt_no,
        "amount_rupiah": payment.amount_rupiah,
        "left_rupiah": payment.left_rupiah,
        "expires_at": payment.expires_at,
        "state": payment.state,
        "entries": [asdict(entry) for entry in payment.entries],
    }


def _text(wishes: dict[str, Any], name: str) -> str:
    value = wishes.get(name)
    if not isinstance(value, str) or not 1 <= len(value) <= 128 or not value.isprintable():
        raise _invalid(name)
    return value


def _rupiah(wishes: dict[str, Any], name: str) -> int:
    value = wishes.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or value <= 0:
        raise _invalid(name)
    return value


def _moment(wishes: dict[str, Any], name: str) -> str:
    text = _text(wishes, name)
    try:
        has_zone = datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        has_zone = False
    if not has_zone:
        raise _invalid(name)
    return text


def _invalid(name: str) -> Refused:
    return Refused(422, "validation_failed", "The request is invalid", f"The field {name} cannot be used.")


def _json(value: Any, status: int = 200) -> Response:
    return Response(json.dumps(value, ensure_ascii=False), status, content_type="application/json")
