import pytest

from emulator.queues.sqs_event import failed_identifiers


class TestTheAnswerOfAWorkerFunction:
    @pytest.mark.parametrize(
        "answer", [b"", b"null", b"{}", b'{"batchItemFailures": []}', b'{"batchItemFailures": null}']
    )
    def test_these_mean_that_every_message_was_handled(self, answer: bytes) -> None:
        assert failed_identifiers(answer) == set()

    def test_the_named_messages_have_failed(self) -> None:
        answer = b'{"batchItemFailures": [{"itemIdentifier": "a"}, {"itemIdentifier": "b"}, {"itemIdentifier": "a"}]}'
        assert failed_identifiers(answer) == {"a", "b"}

    @pytest.mark.parametrize(
        "answer",
        [
            b"{",
            b"[]",
            b'"ok"',
            b"true",
            b'{"batchItemFailure": []}',
            b'{"batchItemFailures": {}}',
            b'{"batchItemFailures": ["a"]}',
            b'{"batchItemFailures": [{}]}',
            b'{"batchItemFailures": [{"itemIdentifier": ""}]}',
            b'{"batchItemFailures": [{"itemIdentifier": null}]}',
            b'{"batchItemFailures": [{"itemIdentifier": 1}]}',
            b'{"batchItemFailures": [{"identifier": "a"}]}',
            b'{"batchItemFailures": [{"itemIdentifier": "a"}, {"itemIdentifier": ""}]}',
        ],
    )
    def test_these_mean_that_every_message_failed(self, answer: bytes) -> None:
        assert failed_identifiers(answer) is None
