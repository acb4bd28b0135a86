"""Every column of the schema: whether it tells something about a person, and what erasing a customer does to it.

docs/personal-data.md is this table for people. A column that is missing here is a red test.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Effect(StrEnum):
    """What erasing a customer does to a column."""

    REMOVED = "removed"
    """The value goes, or its row does."""
    REPLACED = "replaced"
    """Something takes its place that leads to nobody."""
    KEPT = "kept"
    """It stays, for the reason that is given."""


@dataclass(frozen=True)
class Personal:
    """A column that tells something about a person; `of_customer` is False where that is one of our own people."""

    effect: Effect
    why: str
    of_customer: bool = True


def _removed(why: str) -> Personal:
    return Personal(Effect.REMOVED, why)


def _replaced(why: str) -> Personal:
    return Personal(Effect.REPLACED, why)


def _kept(why: str) -> Personal:
    return Personal(Effect.KEPT, why)


def _staff(why: str) -> Personal:
    return Personal(Effect.KEPT, why, of_customer=False)


_TRANSACTION = "bookkeeping and disputes: the gateway's name for a payment, which only its operator can lead to a payer"
_ON_CALL = "evidence of who changed what; people are told to name nobody"

PERSONAL: Mapping[str, Mapping[str, Personal]] = {
    "carts": {"user_id": _removed("the row goes")},
    "cart_items": {"user_id": _removed("the row goes"), "product_id": _removed("what somebody wanted: the row goes")},
    "orders": {
        "user_id": _replaced("a random name, the same for all orders of one erasure"),
        "email": _replaced("the same address for all that is erased; no mail goes there"),
        "recipient_name": _removed("the invoice's file has it"),
        "shipping_address": _removed("the invoice's file has it"),
        "note": _removed("nothing needs it"),
    },
    "idempotency_keys": {
        "user_id": _removed("the row goes"),
        "key": _removed("a client chose it: the row goes"),
        "fingerprint": _removed("a hash of what was ordered and for whom: the row goes"),
    },
    "order_notifications": {"provider_message_id": _removed("leads to the mail's recipient at the provider")},
    "suppressed_recipients": {
        "email": _replaced("its hash, as new rows have from the start: who asked for no mail gets none"),
    },
    "payment_events": {
        "body": _replaced("its hash; what was read from it stays for the books"),
        "transaction_id": _kept(_TRANSACTION),
        "event_key": _kept(_TRANSACTION),
    },
    "payments": {"transaction_id": _kept(_TRANSACTION)},
    "payment_attempts": {"redirect_url": _removed("leads to the gateway's page about the payer")},
    "refunds": {
        "reason": _replaced("a person typed it, and may have named somebody"),
        "refusal": _replaced("a gateway's words"),
        "transaction_id": _kept(_TRANSACTION),
        "requested_by": _staff(_ON_CALL),
    },
    "reconciliation_findings": {"subject": _kept(_TRANSACTION)},
    "customer_requests": {"user_id": _removed("an unfinished request names the account, a finished one does not")},
    "dead_letter_acknowledgements": {"claimed_identity": _staff(_ON_CALL), "reason": _staff(_ON_CALL)},
    "job_pauses": {"reason": _staff(_ON_CALL), "paused_by": _staff(_ON_CALL)},
    "operations_audit": {
        "claimed_identity": _staff(_ON_CALL),
        "reason": _staff(_ON_CALL),
        "request": _staff("evidence; it has numbers and never an address or an account"),
    },
    "stock_movements": {
        "moved_by": _staff("who counted or corrected"),
        "reference": _staff("a delivery note, or why"),
    },
    "quarantined_messages": {
        "body": _kept("a stranger's message on a dead-letter queue; ours carry numbers only"),
        "attributes": _kept("as its body"),
        "binary_attributes": _kept("as its body"),
    },
}
"""The columns that may name a person or lead to one, by table."""

NOT_PERSONAL: Mapping[str, str] = {
    "products": "id sku name price_rupiah stock on_hand stock_version created_at name_en weight_g status version",
    "product_details": "product_id description_id description_en brand category barcode bpom ingredients images",
    "product_search": "product_id sku barcode name brand category price_rupiah words",
    "search_words": "word trigrams",
    "search_synonyms": "term same_as",
    "stock_movements": ("id product_id on_hand_delta reserved_delta reason order_id lot expires_on key created_at"),
    "carts": "version order_number updated_at",
    "cart_items": "quantity added_at",
    "orders": (
        "id order_number cart_version status request_id total_rupiah locale created_at expires_at paid_at cancelled_at"
        " expired_at restocked_at erased_at"
    ),
    "order_items": "order_id product_id sku name unit_price_rupiah quantity",
    "idempotency_keys": "order_number created_at",
    # A payload holds identifiers, and messages of errors are our own sentences.
    "jobs": (
        "id job_type queue payload state unique_key order_number request_id trace_id created_at run_at publish_at"
        " taken_at sends attempts crashes budget_from retry_at lease_token leased_at lease_until release dead_letter_no"
        " first_failed_at last_failed_at error_class error_message finished_at"
    ),
    "job_schedule": "look_at job_id",
    "job_pauses": "id scope name queue job_types paused_at ends_at resumed_at",
    "job_keys": "unique_key job_id",
    "dead_jobs": "job_id",
    "dead_letter_acknowledgements": "job_id dead_letter_no acknowledged_at expires_at",
    "job_attempts": "id job_id started_at finished_at outcome error_class error_message release",
    "order_notifications": "order_id notification_type status reason created_at",
    "suppressed_recipients": "id reason created_at lifted_at",
    # Of a webhook's headers only those are kept that its signature covers: times, numbers and hashes.
    "payment_events": (
        "id gateway source headers body_sha256 order_number attempt_no reported_status status amount_rupiah currency"
        " refund_key occurred_at state flaw reviewed_at request_id received_at applied_at confirmed_at confirmed_status"
        " confirmed_amount_rupiah confirmed_currency confirmed_occurred_at"
    ),
    "set_aside_events": "event_id set_aside_at",
    "payments": (
        "id order_id gateway status amount_rupiah refunded_rupiah charged_back_rupiah event_id pays_order created_at"
        " updated_at"
    ),
    "payment_attempts": "order_id attempt_no gateway amount_rupiah expires_at created_at asked_at closed_at checked_at",
    "payment_anomalies": (
        "id event_id order_id kind task expected_rupiah amount_rupiah give_back_rupiah created_at"
        " withdrawn_at resolved_at"
    ),
    "refunds": "key order_id gateway amount_rupiah keep_stock state created_at sent_at booked_at",
    "invoice_counters": "year last_serial",
    "invoices": "order_id year serial number version created_at object_key made_at",
    "credit_note_counters": "year last_serial",
    "credit_notes": "order_id year serial number amount_rupiah credited_rupiah created_at object_key made_at",
    "order_refunds": "order_id refund_no amount_rupiah returned_rupiah credit_note created_at",
    "reconciliation_runs": "id started_at step after_at after_id finished_at",
    "reconciliation_findings": ("id kind order_number first_seen_at last_seen_at gone_at settled_at"),
    "quarantined_messages": "id queue content_hash reason found_at last_found_at closed_at",
    "operations_audit": "id at invocation_id operation counts",
    "customer_requests": ("id kind pseudonym delivered look waits_for object_key created_at finished_at"),
    "schema_migrations": "name checksum applied_at",
    "schema_functions": "name version checksum applied_at",
}
"""The columns that lead to nobody once those above are done with, by table."""
