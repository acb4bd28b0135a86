"""The evaluator and the record answer as IAM does; they need no deployment."""

import json
from typing import Any

import pytest
from werkzeug.test import Client

from tests.artefact.calls import Call, RecordedAws
from tests.artefact.policy import Grant, grants

QUEUE = "arn:aws:sqs:ap-southeast-3:123456789012:skincare-dev-payments"


class TestAGrant:
    @pytest.mark.parametrize(
        ("pattern", "resource", "covered"),
        [
            (QUEUE, QUEUE, True),
            (QUEUE, f"{QUEUE}-dead-letters", False),
            ("arn:aws:s3:::invoices/*", "arn:aws:s3:::invoices/a/b.pdf", True),
            ("arn:aws:s3:::invoices/*", "arn:aws:s3:::invoices", False),
            ("arn:aws:s3:::file?", "arn:aws:s3:::files", True),
            ("arn:aws:s3:::[a]", "arn:aws:s3:::a", False),
            (QUEUE, QUEUE.upper(), False),
            ("*", "*", True),
        ],
    )
    def test_covers_what_its_pattern_fits(self, pattern: str, resource: str, covered: bool) -> None:
        assert Grant("sqs:SendMessage", pattern).covers("sqs:sendmessage", resource) is covered

    def test_covers_no_other_action(self) -> None:
        assert not Grant("sqs:SendMessage", "*").covers("sqs:SendMessageBatch", QUEUE)


class TestStatements:
    def test_are_taken_apart(self) -> None:
        statement = {"Effect": "Allow", "Action": ["a:B", "a:C"], "Resource": ["x", "y"]}
        assert len(list(grants([statement]))) == 4

    @pytest.mark.parametrize("odd", [{"Effect": "Deny"}, {"Condition": {}}, {"NotAction": "a:B"}, {"NotResource": "x"}])
    def test_of_another_kind_are_refused(self, odd: dict[str, object]) -> None:
        with pytest.raises(AssertionError):
            list(grants([{"Effect": "Allow", "Action": "a:B", "Resource": "x"} | odd]))


class TestTheRecord:
    @pytest.fixture
    def aws(self) -> RecordedAws:
        def nothing(environ: object, start_response: Any) -> list[bytes]:
            start_response("200 OK", [])
            return []

        return RecordedAws(nothing, identity="example.com")

    def test_knows_a_function_by_its_key_and_a_batch_by_its_single_action(self, aws: RecordedAws) -> None:
        Client(aws).post(
            "/",
            data=json.dumps({"QueueUrl": "http://localhost/123456789012/skincare-dev-payments"}),
            headers={
                "X-Amz-Target": "AmazonSQS.SendMessageBatch",
                "Authorization": "AWS4-HMAC-SHA256 Credential=api/20261130/ap-southeast-3/sqs/aws4_request",
            },
        )
        assert aws.calls == [Call("api", "sqs:SendMessage", QUEUE)]

    def test_counts_a_link_as_the_act_of_who_signed_it(self, aws: RecordedAws) -> None:
        credential = "api%2F20261130%2Fap-southeast-3%2Fs3%2Faws4_request"
        Client(aws).get(f"/invoices/a/b.pdf?X-Amz-Credential={credential}")
        assert aws.calls == [Call("api", "s3:GetObject", "arn:aws:s3:::invoices/a/b.pdf")]

    def test_tells_what_it_has_no_words_for(self, aws: RecordedAws) -> None:
        Client(aws).get("/v2/email/templates")
        assert aws.calls == []
        assert aws.unread == ["nobody: GET /v2/email/templates "]
