"""What a message on SQS says about a job."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skincare.identifiers import new_job_id
from skincare.jobs.envelope import Envelope, EnvelopeUndecodable, decode, job_id_in

PAYLOADS = st.dictionaries(st.text(), st.text() | st.integers() | st.none(), max_size=4)


class TestEnvelope:
    @given(PAYLOADS, st.none() | st.integers(0, 2**31 - 1))
    def test_comes_back_as_it_was_sent(self, payload: dict[str, Any], number: int | None) -> None:
        sent = Envelope(new_job_id(), "send_confirmation_email", payload, number)
        assert decode(sent.encode()) == sent

    @given(st.dictionaries(st.text(), st.text(), max_size=4))
    def test_is_printable_ascii_whatever_the_payload_holds(self, payload: dict[str, str]) -> None:
        body = Envelope(new_job_id(), "t", payload).encode()
        assert body.isascii()
        assert body.isprintable()

    def test_ignores_members_of_a_newer_release(self) -> None:
        job_id = new_job_id()
        body = json.dumps({"id": str(job_id), "type": "t", "payload": {}, "colour": "green"})
        assert decode(body).job_id == job_id

    @pytest.mark.parametrize(
        "body",
        [
            "{oops",
            "[]",
            '"x"',
            "null",
            "",
            '{"Event":"s3:TestEvent"}',
            '{"id":"j","type":"unknown","payload":{}}',
            '{"id":"00000000-0000-7000-8000-000000000000","type":"","payload":{}}',
            '{"id":"00000000-0000-7000-8000-000000000000","type":"t","payload":[]}',
            '{"id":7,"type":"t","payload":{}}',
            '{"id":"00000000-0000-7000-8000-000000000000","type":"t","payload":{},"dead_letter_no":true}',
            '{"id":"00000000-0000-7000-8000-000000000000","type":"t","payload":{},"dead_letter_no":-1}',
            "[" * 100_000,
        ],
    )
    def test_what_is_no_envelope_is_undecodable_and_nothing_worse(self, body: str) -> None:
        with pytest.raises(EnvelopeUndecodable):
            decode(body)

    def test_the_id_can_be_read_from_an_envelope_that_cannot(self) -> None:
        job_id = new_job_id()
        assert job_id_in(json.dumps({"id": str(job_id), "payload": "?"})) == job_id
        assert job_id_in("{oops") is None
        assert job_id_in("[]") is None
