"""What a job may carry: identifiers as we write them, and a refusal that never repeats what came instead."""

import re
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skincare.identifiers import (
    CREDIT_NOTE_PATTERN,
    ORDER_NUMBER_PATTERN,
    REFUND_KEY_PATTERN,
    UUID_PATTERN,
    new_order_number,
    uuid7,
)
from skincare.jobs.catalog import PAYLOADS, JobPayload
from skincare.jobs.registry import PayloadInvalid, Registration

FITTING: Mapping[str, object] = {
    "order_number": new_order_number(),
    "event_id": str(uuid7()),
    "refund_key": str(uuid7()),
    "refund_no": 1,
    "customer_request": 1,
    "look": 1,
    "credit_note": "CN/2026/000001",
}
WRITTEN = {
    "order_number": ORDER_NUMBER_PATTERN,
    "event_id": UUID_PATTERN,
    "refund_key": REFUND_KEY_PATTERN,
    "refund_no": "(?!)",
    "customer_request": "(?!)",
    "look": "(?!)",
    "credit_note": CREDIT_NOTE_PATTERN,
}
CARRYING = [payload for payload in PAYLOADS if payload.model_fields]

every_payload = pytest.mark.parametrize("payload", CARRYING, ids=lambda payload: payload.job_type)


def run(payload: type[JobPayload], content: Mapping[str, object]) -> list[object]:
    handled: list[object] = []

    def handle(job: object, _: object) -> None:
        handled.append(job)

    Registration[None](payload, handle).run(dict(content), None)
    return handled


@every_payload
class TestAPayload:
    def test_carries_identifiers_that_we_know_how_to_write(self, payload: type[JobPayload]) -> None:
        assert set(payload.model_fields) <= set(FITTING)
        assert run(payload, dict(FITTING))

    @pytest.mark.parametrize(
        "value",
        [
            "-1",
            "1e3",
            " 7",
            "\u0667",
            "",
            "SKN-4t9qx-0m7kd",
            "SKN-4T9QX-0M7KO",
            "SKN-4T9QX-0M7KD\n",
            " SKN-4T9QX-0M7KD",
            "SKN-4T9QX-0M7KD\x00",
            "x" * 65,
            "\ud800",
            "canary 7f3a\u202e",
            7,
            None,
            ["SKN-4T9QX-0M7KD"],
        ],
    )
    def test_is_refused_by_its_field_and_its_text_is_not_repeated(
        self, payload: type[JobPayload], value: object
    ) -> None:
        for name in payload.model_fields:
            if type(value) is type(FITTING[name]) is int:
                continue
            if isinstance(value, str) and re.fullmatch(WRITTEN[name], value):
                continue
            with pytest.raises(PayloadInvalid) as refusal:
                run(payload, {**FITTING, name: value})
            assert str(refusal.value) == f"payload is malformed at {name}"

    @given(st.text(st.characters(exclude_categories=[])))
    def test_reaches_its_handler_only_as_we_write_it(self, payload: type[JobPayload], text: str) -> None:
        for name in payload.model_fields:
            if not re.fullmatch(WRITTEN[name], text):
                with pytest.raises(PayloadInvalid, match=f"^payload is malformed at {name}$"):
                    run(payload, {**FITTING, name: text})
