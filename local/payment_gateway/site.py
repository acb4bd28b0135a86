"""What the gateway answers: its API for the shop and, for the shop's customer, a page with buttons."""

import base64
import hmac
import json
from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from werkzeug import Request, Response

from emulator.gateway.problems import Refused, no_route
from emulator.log.logbook import LogBook
from emulator.processes.threads import start_thread
from local.page.site import STATIC_HEADERS, STATIC_TYPES, CsrfToken, json_body
from local.payment_gateway.body import invalid, moment, rupiah, text
from local.payment_gateway.occurrences import Occurrences
from local.payment_gateway.payment_store import OURS, Entry, Payment, PaymentStore
from local.payment_gateway.sender import Sender
from local.payment_gateway.stand_ins import stand_ins
from local.settings import PAYMENT_API
from local.webhook_delivery import Delivery
from skincare.payments.gateways import GATEWAYS
from skincare.payments.gateways.samples import Occurrence
from skincare.payments.gateways.webhooks import READERS
from skincare.payments.models import attempt_named

PAGE = "/_local/pay/"
_STATE = PAGE + "state"
_ACT = PAGE + "act"

_OCCURRENCES = "happenings"
_STATIC = Path(__file__).parent / "static"
_ACTIONS = {"pay": "paid", "fail": "failed", "expire": "expired", "refund": "refunded"}
_AGAIN = "again"


class PaymentSite:
    """Answers requests that the local gateway found to come from this machine under a name of this machine."""

    def __init__(
        self,
        store: PaymentStore,
        sender: Sender,
        *,
        shop_url: str,
        api_keys: Mapping[str, str],
        log: LogBook,
        occurrences: Occurrences | None = None,
        csrf: CsrfToken | None = None,
    ) -> None:
        """`api_keys` has the key of the shop by gateway; `csrf` is shared by all pages of a system."""
        self._store = store
        self._sender = sender
        self._authorizations = {
            gateway: "Basic " + base64.b64encode(f"{key}:".encode()).decode() for gateway, key in api_keys.items()
        }
        self._stand_ins = stand_ins(store, page_url=shop_url + PAGE)
        self._occurrences = occurrences
        self._log = log
        self._csrf = csrf or CsrfToken()
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
        """Answer the shop, each gateway below a path of its own; what is below none is ours."""
        path = request.path.removeprefix(PAYMENT_API)
        gateway, _, rest = path.removeprefix("/").partition("/")
        if gateway not in self._authorizations:
            gateway, rest = OURS, path.removeprefix("/")
        sent = request.headers.get("Authorization", "")
        if not hmac.compare_digest(sent.encode(), self._authorizations[gateway].encode()):
            raise Refused(401, "unauthenticated", "Unauthorized", "Send the key of the shop.")
        if request.method == "POST" and rest == _OCCURRENCES:
            return self._note(gateway, json_body(request))
        query = request.query_string.decode("latin-1")
        answer = self._stand_ins[gateway].answer(request.method, f"/{rest}", partial(json_body, request), query)
        if answer is None:
            return None
        if answer.event is not None:
            # After the answer, as a gateway does: the shop may not have stored what it asked for.
            start_thread("payment-gateway", partial(self._tell, *answer.event), log=self._log)
        return _json(answer.body, answer.status)

    def _note(self, gateway: str, body: dict[str, Any]) -> Response:
        """Let a gateway know of something before somebody sends its webhook, as `skincare webhook send` does."""
        if self._occurrences is None or READERS[gateway].status_is_signed:
            raise no_route()
        what = Occurrence(
            event_id=text(body, "event_id"),
            order_number=text(body, "order_number"),
            transaction_id=text(body, "transaction_id"),
            status=text(body, "status"),
            amount_rupiah=rupiah(body, "amount_rupiah", least=0),
            occurred_at=datetime.fromisoformat(moment(body, "occurred_at")),
            fee_rupiah=rupiah({"fee_rupiah": 0} | body, "fee_rupiah", least=0),
        )
        noted = self._occurrences.note(gateway, what)
        return _json({"reference": noted.order_number, "total_rupiah": noted.total_rupiah}, 201)

    def _page(self, request: Request) -> Response | None:
        reads = request.method in {"GET", "HEAD"}
        if reads and (file := self._files.get(request.path)):
            return Response(file.read_bytes(), content_type=STATIC_TYPES[file.suffix])
        if reads and request.path == _STATE:
            payment = self._store.find(request.args.get("reference", ""))
            return _json({"csrf_token": self._csrf.value, "payment": _shown(payment)})
        if request.method == "POST" and request.path == _ACT:
            self._csrf.check(request)
            return self._act(json_body(request))
        return None

    def _act(self, body: dict[str, Any]) -> Response:
        """Do what a customer, or the gateway's staff, would do, and tell the shop."""
        reference, action = text(body, "reference"), text(body, "action")
        try:
            delivery = Delivery(text(body, "delivery"))
        except ValueError:
            raise invalid("delivery") from None
        if action == _AGAIN:
            payment = self._store.find(reference)
            if not payment.entries:
                raise Refused(409, "payment_refused", "The gateway refuses", "Nothing has happened yet.")
            self._check(payment, action, delivery)
            entry = payment.entries[-1]
        elif action in _ACTIONS:
            self._check(self._store.find(reference), action, delivery)
            payment, entry = self._store.happen(reference, _ACTIONS[action])
        else:
            raise invalid("action")
        answers = self._sender.send(payment, entry, delivery)
        return _json({"payment": _shown(payment), "answers": [asdict(answer) for answer in answers]})

    def _check(self, payment: Payment, action: str, delivery: Delivery) -> None:
        self._sender.check(payment, delivery)
        if action == "refund" and not self._stand_ins[payment.gateway].gives_back:
            detail = f"The shop gives nothing back at {GATEWAYS[payment.gateway].title}."
            raise Refused(409, "payment_refused", "The gateway refuses", detail)

    def _tell(self, payment: Payment, entry: Entry) -> None:
        (answer,) = self._sender.send(payment, entry, Delivery.ONCE)
        self._log.event("payment-gateway", "webhook.sent", status=answer.status, event_status=entry.status)


def _shown(payment: Payment) -> dict[str, Any]:
    order_number, attempt_no = attempt_named(payment.reference)
    return {
        "gateway": payment.gateway,
        "order_number": order_number,
        "attempt_no": attempt_no,
        "amount_rupiah": payment.amount_rupiah,
        "left_rupiah": payment.left_rupiah,
        "expires_at": payment.expires_at,
        "state": payment.state,
        "entries": [asdict(entry) for entry in payment.entries],
    }


def _json(value: Any, status: int = 200) -> Response:
    return Response(json.dumps(value, ensure_ascii=False), status, content_type="application/json")
