"""What happens in a day of the shop, done to the deployed functions. Each chapter returns what was seen."""

import json
import urllib.request
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any

from psycopg import Connection

from skincare.deployment.queues import QueueName
from skincare.identifiers import OrderNumber
from skincare.jobs.catalog import GenerateInvoicePdf, JobPayload, SendConfirmationEmail, SendRefund
from tests.artefact.deployed import STAGE, Deployed, mails
from tests.support import ledger
from tests.support.factories import make_order
from tests.support.http import http_event
from tests.support.local_system import wait_for
from tests.support.oncall import dead_job
from tests.support.payments import make_attempt, order_status
from tests.support.webhooks import webhook_of

CUSTOMER = {"sub": "customer-1", "email": "buyer@example.com"}
ENGINEER = "arn:aws:sts::123456789012:assumed-role/oncall/ani"
PATHS = {
    "standard_webhooks": "/v1/payments/webhook",
    **{gateway: f"/v1/payments/webhook/{gateway}" for gateway in ("midtrans", "xendit", "doku")},
}
DEAD: dict[QueueName, JobPayload] = {
    QueueName.PAYMENTS: SendRefund(refund_key="refund-of-nothing"),
    QueueName.NOTIFICATIONS: SendConfirmationEmail(order_number="SKN-00000-00001"),
    QueueName.DOCUMENTS: GenerateInvoicePdf(order_number="SKN-00000-00001"),
}
"""A job of each queue whose order does not exist."""


@dataclass(frozen=True)
class Ordered:
    number: str
    total_rupiah: int
    mail: str


@dataclass(frozen=True)
class Paid:
    webhook_status: int
    order_status: str
    mail: str
    link_status: int
    file: bytes


def ask(deployed: Deployed, method: str, path: str, **parts: Any) -> Any:
    """Return the API's answer as API Gateway gets it, with its body read."""
    answer = deployed.invoke("api", http_event(method, path, **({"claims": CUSTOMER} | parts)))
    return answer | {"body": json.loads(answer["body"])}


def order(deployed: Deployed) -> Ordered:
    """Fill a cart, check out, and let the worker send the mail."""
    cart = ask(deployed, "PUT", "/v1/cart/items/SERUM-NIA-30", body={"quantity": 1})
    assert cart["statusCode"] == 200, cart
    placed = ask(deployed, "POST", "/v1/orders", body={}, headers={"idempotency-key": "first"})
    assert placed["statusCode"] == 201, placed
    number = placed["body"]["order_number"]
    with deployed.polling(QueueName.NOTIFICATIONS):
        wait_for(lambda: mails_about(number), "the confirmation")
    return Ordered(number, placed["body"]["total_rupiah"], mails_about(number)[0])


def pay(deployed: Deployed, owner: Connection, ordered: Ordered) -> Paid:
    """Let the gateway tell that an order is paid, and follow it to its mail and its invoice."""
    begun = ask(deployed, "POST", f"/v1/orders/{ordered.number}/payment", body={})
    assert begun["body"]["redirect_url"] == "https://pay.example.com/payment-1", begun
    status = tell(deployed, "standard_webhooks", order_number=ordered.number, amount_rupiah=ordered.total_rupiah)
    with ExitStack() as stack:
        for queue in QueueName:
            stack.enter_context(deployed.polling(queue))
        wait_for(lambda: len(mails_about(ordered.number)) == 2, "the second mail")
        wait_for(lambda: made(owner, ordered.number), "the invoice")
    shown = ask(deployed, "GET", f"/v1/orders/{ordered.number}")
    link = ask(deployed, "GET", f"/v1/orders/{ordered.number}/invoice")
    with urllib.request.urlopen(link["headers"]["location"], timeout=10) as file:
        content = file.read()
    return Paid(status, shown["body"]["status"], mails_about(ordered.number)[1], link["statusCode"], content)


def tell(deployed: Deployed, gateway: str, **changes: Any) -> int:
    """Send a truly signed webhook; return the status of its answer."""
    webhook = webhook_of(gateway, at=datetime.now(UTC), **changes)
    event = http_event("POST", PATHS[gateway], headers=webhook.headers, body=webhook.body.decode())
    return int(deployed.invoke("api", event)["statusCode"])


def hear_all_gateways(deployed: Deployed, owner: Connection) -> dict[str, int]:
    """Let every gateway tell something, and the worker ask those whose word is not signed; return the statuses."""
    numbers = {gateway: str(make_order(owner).order.order_number) for gateway in PATHS}
    statuses = {
        "standard_webhooks": tell(deployed, "standard_webhooks", order_number=numbers["standard_webhooks"]),
        "midtrans": tell(deployed, "midtrans", order_id=f"{numbers['midtrans']}.1"),
        "xendit": tell(deployed, "xendit", external_id=f"{numbers['xendit']}.1"),
        "doku": tell(deployed, "doku", order={"invoice_number": numbers["doku"], "amount": 150_000}),
    }
    # A payment that was begun goes on at its gateway, whichever new ones go to.
    begun = str(make_order(owner, user_id=CUSTOMER["sub"]).order.order_number)
    make_attempt(owner, begun, "xendit")
    ask(deployed, "POST", f"/v1/orders/{begun}/payment", body={})
    # Before an order expires, the gateways of its attempts are asked.
    missed = {gateway: str(make_order(owner).order.order_number) for gateway in STAGE.gateway_urls}
    for gateway, number in missed.items():
        make_attempt(owner, number, gateway)
        owner.execute(
            "UPDATE jobs SET run_at = now() - interval '1 hour', publish_at = now()"
            " WHERE job_type = 'expire_order' AND order_number = %s",
            [number],
        )
    with deployed.polling(QueueName.PAYMENTS):
        deployed.invoke("outbox-relay", {})
        wait_for(lambda: len(asked_gateways(deployed)) == len(STAGE.gateway_urls), "what the worker asks gateways")
        # The one that answers had a payment that nobody told us of.
        wait_for(lambda: is_paid(owner, missed["standard_webhooks"]), "the payment that was missed")
    return statuses


def asked_gateways(deployed: Deployed) -> set[str]:
    """Return the secrets that the payments worker read."""
    reads = [call for call in deployed.aws.calls if call.action == "secretsmanager:GetSecretValue"]
    return {call.resource for call in reads if call.who == "worker-payments"}


def relay(deployed: Deployed, owner: Connection) -> dict[str, Any]:
    """Let the relay publish what nobody published: a job of each queue, and a dead letter of each."""
    for payload in DEAD.values():
        dead_job(owner, payload)
    for payload in (*list(DEAD.values())[1:], SendRefund(refund_key="another-refund")):
        ledger.enqueue(owner, payload)
    ledger.let_pass(owner, 3 * ledger.MINUTE)
    report: dict[str, Any] = deployed.invoke("outbox-relay", {})
    return report


def bring_back(deployed: Deployed) -> dict[str, Any]:
    """Let on-call find the dead jobs and redrive them; then the relay clears their dead letters away."""
    found = deployed.invoke("oncall", {"operation": "find_dead"})
    refs = [{"job_id": job["id"], "dead_letter_no": job["dead_letter_no"]} for job in found["answer"]["jobs"]]
    change: dict[str, Any] = deployed.invoke(
        "oncall", {"operation": "redrive", "claimed_identity": ENGINEER, "deaths": refs, "force": True}
    )
    swept = deployed.invoke("outbox-relay", {})["swept"]
    return {"dead": len(refs), "change": change, "swept": swept}


def hand_out(deployed: Deployed) -> Any:
    """Let on-call have all that is known about the customer written into a file; return what stands in it."""
    said = {"claimed_identity": ENGINEER, "reason": "the customer asked for it"}
    asked = deployed.invoke("oncall", {"operation": "export_customer", "user_ids": [CUSTOMER["sub"]], **said})
    fetch = {"operation": "fetch_customer_export", "request_id": asked["answer"]["requests"][0]["id"], **said}
    with deployed.polling(QueueName.DOCUMENTS):
        deployed.invoke("outbox-relay", {})
        wait_for(lambda: deployed.invoke("oncall", fetch)["ok"], "the file")
    with urllib.request.urlopen(deployed.invoke("oncall", fetch)["answer"]["link"], timeout=10) as file:
        return json.load(file)


def dead_letter_foreign_messages(deployed: Deployed) -> dict[QueueName, int]:
    """Put messages on each queue that no job belongs to, or nobody can read; return what each worker buried."""
    sqs = deployed.client("sqs")
    stranger = {"id": "0191e7a5-1b2c-7d3e-8f40-5a6b7c8d9e0f", "payload": {}}
    with ExitStack() as stack:
        for queue in QueueName:
            payload = DEAD.get(queue, DEAD[QueueName.PAYMENTS])  # no job belongs to it wherever it lies
            body = json.dumps(stranger | {"type": payload.job_type, "payload": payload.model_dump()})
            sqs.send_message(QueueUrl=deployed.queue_url(queue), MessageBody=body)
            sqs.send_message(QueueUrl=deployed.queue_url(queue), MessageBody="{oops")
            stack.enter_context(deployed.polling(queue))
        wait_for(lambda: all(count >= 1 for count in buried(deployed).values()), "what the workers bury")
        wait_for(lambda: len(_who_changed_visibility(deployed)) == len(QueueName), "what the workers hand back")
    return buried(deployed)


def buried(deployed: Deployed) -> dict[QueueName, int]:
    """Return how often each worker sent to its dead-letter queue."""
    return {
        queue: sum(
            (call.who, call.action) == (f"worker-{queue}", "sqs:SendMessage")
            and call.resource.endswith("-dead-letters")
            for call in deployed.aws.calls
        )
        for queue in QueueName
    }


def refuse_mails(deployed: Deployed, owner: Connection) -> list[str]:
    """Let SES refuse a mail, then forget its sender; return what the worker asked SES about itself."""
    ses = deployed.aws
    with deployed.polling(QueueName.NOTIFICATIONS):
        for hidden, last in ((False, "ses:GetAccount"), (True, "identity/example.com")):
            ses.refuse_mails, ses.hide_identities = True, hidden
            make_order(owner)
            ledger.let_pass(owner, 3 * ledger.MINUTE)
            deployed.invoke("outbox-relay", {})
            wait_for(partial(_asked, deployed, last), last)
        ses.refuse_mails = ses.hide_identities = False
    return _asked_ses(deployed)


def bounce(deployed: Deployed) -> dict[str, Any]:
    """Let EventBridge bring a bounce."""
    recipient = {"emailAddress": "gone@example.com", "action": "failed"}
    detail = {
        "eventType": "Bounce",
        "bounce": {"bounceType": "Permanent", "bounceSubType": "General", "bouncedRecipients": [recipient]},
        "mail": {"messageId": "message-1", "destination": ["gone@example.com"]},
    }
    answer: dict[str, Any] = deployed.invoke("mail-events", {"source": "aws.ses", "detail": detail})
    return answer


def mails_about(number: str) -> list[str]:
    return [mail for mail in mails() if number in mail]


def is_paid(owner: Connection, number: str) -> bool:
    return order_status(owner, OrderNumber(number)) == "paid"


def made(owner: Connection, number: str) -> bool:
    """Tell whether the file of an order's invoice is there."""
    row = owner.execute(
        "SELECT v.made_at FROM invoices v JOIN orders o ON o.id = v.order_id WHERE o.order_number = %s", [number]
    ).fetchone()
    return row is not None and row[0] is not None


def _who_changed_visibility(deployed: Deployed) -> set[str]:
    return {
        call.who
        for call in deployed.aws.calls
        if call.action == "sqs:ChangeMessageVisibility" and call.who.startswith("worker-")
    }


def _asked(deployed: Deployed, what: str) -> bool:
    return any(what in each for each in _asked_ses(deployed))


def _asked_ses(deployed: Deployed) -> list[str]:
    return [f"{c.action} {c.resource}" for c in deployed.aws.calls if c.action.startswith("ses:Get")]
