"""What the page does beside shopping: ask the on-call function, turn switches, send webhooks. Each takes JSON."""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Any

from emulator.functions.function import Function, InvocationFailed
from emulator.gateway.problems import Refused, unavailable
from emulator.loopback.client import LoopbackClient
from emulator.switches import Switches
from local.chaos import Switch
from local.webhook_delivery import Delivery, Signer, deliver
from oncall.dead_letter_requests import CloseQuarantined, Discard, FindDead, Redrive, ShowQuarantined
from skincare.identifiers import uuid7
from skincare.payments.gateways.samples import Occurrence, sample
from skincare.payments.gateways.webhooks import READERS

_TIMEOUT = timedelta(seconds=30)
_LARGEST_AMOUNT = 2**53
"""What a page counts with exactly."""

_ASKED = {
    request.model_fields["operation"].default: request
    for request in (FindDead, Redrive, Discard, ShowQuarantined, CloseQuarantined)
}
_CLAIMED = "local page"


class OnCallDesk:
    """Asks the on-call function as the command line does: the same requests, answers and audit."""

    def __init__(self, oncall: Function) -> None:
        self._oncall = oncall

    def __call__(self, body: dict[str, Any]) -> Any:
        """Return the function's answer, `{"ok": true, "answer": …}`. Raises `Refused` for any other."""
        request = _ASKED.get(str(body.get("operation")))
        if request is None:
            raise _invalid("operation")
        if "claimed_identity" in request.model_fields:
            body = {**body, "claimed_identity": _CLAIMED}
        try:
            answer = json.loads(self._oncall.invoke(json.dumps(body).encode(), timeout=_TIMEOUT))
        except InvocationFailed as error:
            raise unavailable(f"The on-call function gave no answer ({error.error_type}).") from error
        if answer.get("ok"):
            return answer
        problem = answer["error"]
        if problem["code"] == "request_malformed":
            flaws = ", ".join(f"{name} {wrong}" for name, wrong in problem["fields"].items())
            raise Refused(422, "validation_failed", "The request is invalid", f"{flaws}.")
        if problem["code"] == "not_found":
            raise Refused(404, "not_found", "Not found", problem["message"])
        raise unavailable(problem["message"])


class ChaosDesk:
    """Turns switches: `{"switch": name, "on": true}`, with `"all"` for all of them off."""

    def __init__(self, switches: Switches) -> None:
        self._switches = switches

    def __call__(self, body: dict[str, Any]) -> Any:
        """Return all switches as they are then."""
        name, on = body.get("switch"), body.get("on")
        if not isinstance(on, bool):
            raise _invalid("on")
        if name == "all" and not on:
            self._switches.all_off()
        else:
            try:
                self._switches.turn(Switch(str(name)), on=on)
            except ValueError:
                raise _invalid("switch") from None
        return {"switches": shown_switches(self._switches)}


class WebhookDesk:
    """Sends the shop webhooks of any gateway about any order."""

    def __init__(
        self, signers: Mapping[str, Signer], *, shop_url: str, note: Callable[[str, Occurrence], Occurrence]
    ) -> None:
        """`note` lets a gateway know of what happened to it, and returns that as the gateway calls it."""
        self._signers = signers
        self._note = note
        self._shop = LoopbackClient(shop_url)

    def __call__(self, body: dict[str, Any]) -> Any:
        """Send `{gateway, order_number, status, amount_rupiah, delivery}` and return each HTTP answer."""
        signer = self._signers.get(str(body.get("gateway")))
        if signer is None:
            raise _invalid("gateway")
        order_number, status, amount = _word(body, "order_number"), _word(body, "status"), _rupiah(body)
        try:
            delivery = Delivery(str(body.get("delivery")))
        except ValueError:
            raise _invalid("delivery") from None
        if delivery is Delivery.LATE and not sample(signer.gateway).signs_time:
            raise Refused(422, "validation_failed", "The request is invalid", f"{signer.gateway} signs no time.")
        what = Occurrence(
            event_id=str(uuid7()),
            order_number=order_number,
            # As the command line names it: both speak of one payment.
            transaction_id=f"{signer.gateway}-{order_number}",
            status=status,
            amount_rupiah=amount,
            occurred_at=datetime.now(UTC),
        )
        if not READERS[signer.gateway].status_is_signed and delivery is not Delivery.FORGED:
            what = self._note(signer.gateway, what)
        answers = deliver(what, delivery, signer=signer, shop=self._shop)
        return {"event_id": what.event_id, "answers": [asdict(answer) for answer in answers]}


def shown_switches(switches: Switches) -> list[dict[str, Any]]:
    """Return every switch as JSON."""
    on = switches.on()
    return [
        {"name": switch.value, "title": switch.heading, "effect": switch.effect, "on": switch in on}
        for switch in Switch
    ]


def _word(body: dict[str, Any], name: str) -> str:
    value = body.get(name)
    if not isinstance(value, str) or not 1 <= len(value) <= 64 or not value.isascii() or not value.isprintable():
        raise _invalid(name)
    return value


def _rupiah(body: dict[str, Any]) -> int:
    value = body.get("amount_rupiah")
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= _LARGEST_AMOUNT:
        raise _invalid("amount_rupiah")
    return value


def _invalid(name: str) -> Refused:
    return Refused(422, "validation_failed", "The request is invalid", f"The field {name} cannot be used.")
