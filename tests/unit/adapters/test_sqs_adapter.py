"""What the SQS adapter makes of answers that a healthy SQS does not give."""

import logging
import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError, ReadTimeoutError

from skincare.adapters.aws import AwsSession, Timeouts
from skincare.adapters.sqs import SqsQueue
from skincare.jobs.ports import OutgoingMessage, QueueUnavailable, ReceivedMessage
from skincare.observability import describe, logger

URL = "http://sqs.example.com/111122223333/skincare-payments"
SECOND = timedelta(seconds=1)

type Answer = dict[str, Any] | Exception


def refusal(code: str, status: int) -> ClientError:
    error: Any = {"Error": {"Code": code, "Message": "canary"}, "ResponseMetadata": {"HTTPStatusCode": status}}
    return ClientError(error, "AnyOperation")


class ScriptedAws(AwsSession):
    """A session whose only client answers as it was told and remembers what it was asked."""

    def __init__(self, *answers: Answer | Callable[[dict[str, Any]], Answer]) -> None:
        super().__init__()
        self.answers = list(answers)
        self.calls: list[dict[str, Any]] = []

    def client(self, service: str, timeouts: Timeouts, *, attempts: int = 1) -> Any:
        assert (service, attempts) == ("sqs", 1)
        return self

    def _answer(self, **request: Any) -> dict[str, Any]:
        self.calls.append(request)
        answer = self.answers.pop(0)
        if callable(answer):
            answer = answer(request)
        if isinstance(answer, Exception):
            raise answer
        return answer

    send_message_batch = receive_message = delete_message_batch = change_message_visibility_batch = _answer


def all_successful(request: dict[str, Any]) -> Answer:
    return {"Successful": [{"Id": entry["Id"]} for entry in request["Entries"]]}


def outgoing(count: int, body: str = "body") -> list[OutgoingMessage]:
    return [OutgoingMessage(body)] * count


def received(count: int) -> list[ReceivedMessage]:
    return [ReceivedMessage(f"m-{n}", f"rh-{n}", "body") for n in range(count)]


class TestEnqueue:
    def test_sends_ten_at_a_time(self) -> None:
        aws = ScriptedAws(all_successful, all_successful, all_successful)
        assert SqsQueue(URL, aws=aws).enqueue(outgoing(25)) == []
        assert sorted(len(call["Entries"]) for call in aws.calls) == [5, 10, 10]

    def test_sends_four_calls_at_once_after_the_first(self) -> None:
        four = threading.Barrier(4)

        def meet(request: dict[str, Any]) -> Answer:
            four.wait(timeout=10)
            return all_successful(request)

        aws = ScriptedAws(all_successful, meet, meet, meet, meet)
        assert SqsQueue(URL, aws=aws).enqueue(outgoing(50)) == []
        assert sorted(entry["Id"] for call in aws.calls for entry in call["Entries"]) == sorted(map(str, range(50)))

    def test_sends_no_more_than_one_mebibyte_at_a_time_counted_in_bytes(self) -> None:
        aws = ScriptedAws(all_successful, all_successful)
        # 3 x 400,000 characters are 2,400,000 bytes, and two of them 1,600,000: one each would be three calls.
        assert SqsQueue(URL, aws=aws).enqueue(outgoing(3, "é" * 200_000)) == []
        assert [len(call["Entries"]) for call in aws.calls] == [2, 1]

    def test_returns_an_entry_that_sqs_refused_with_its_code_and_whose_fault_it_is(self) -> None:
        aws = ScriptedAws(
            {
                "Successful": [{"Id": "0"}],
                "Failed": [
                    {"Id": "1", "Code": "InternalError", "SenderFault": False},
                    {"Id": "2", "Code": "InvalidMessageContents", "SenderFault": True, "Message": "canary"},
                ],
            }
        )
        failures = SqsQueue(URL, aws=aws).enqueue(outgoing(3))
        assert [(f.index, f.code, f.sender_fault) for f in failures] == [
            (1, "InternalError", False),
            (2, "InvalidMessageContents", True),
        ]

    def test_an_entry_that_the_answer_does_not_mention_is_unavailable(self) -> None:
        aws = ScriptedAws({"Successful": [{"Id": "0"}, {"Id": "77"}]})
        failures = SqsQueue(URL, aws=aws).enqueue(outgoing(2))
        assert [(f.index, f.code, f.sender_fault) for f in failures] == [(1, "Unavailable", False)]

    def test_an_entry_that_is_called_both_sent_and_refused_counts_as_refused(self) -> None:
        aws = ScriptedAws({"Successful": [{"Id": "0"}], "Failed": [{"Id": "0"}]})
        (failure,) = SqsQueue(URL, aws=aws).enqueue(outgoing(1))
        assert (failure.code, failure.sender_fault) == ("Unknown", False)

    def test_an_answer_without_any_list_leaves_every_entry_unavailable(self) -> None:
        failures = SqsQueue(URL, aws=ScriptedAws({})).enqueue(outgoing(2))
        assert [failure.code for failure in failures] == ["Unavailable", "Unavailable"]

    @pytest.mark.parametrize(
        "outage",
        [
            refusal("InternalFailure", 500),
            refusal("ServiceUnavailable", 503),
            refusal("RequestThrottled", 403),
            refusal("KmsThrottled", 400),
            refusal("Slow", 429),
            EndpointConnectionError(endpoint_url=URL),
            ReadTimeoutError(endpoint_url=URL),
        ],
    )
    def test_an_outage_ends_the_sending_and_what_is_left_is_reported_too(self, outage: Exception) -> None:
        aws = ScriptedAws(outage)
        failures = SqsQueue(URL, aws=aws).enqueue(outgoing(35))
        assert len(aws.calls) == 1
        assert [failure.index for failure in failures] == list(range(35))
        assert {(failure.code, failure.sender_fault) for failure in failures} == {("Unavailable", False)}

    def test_an_outage_while_four_calls_are_on_their_way_begins_no_other(self) -> None:
        outage = refusal("InternalFailure", 500)
        four = threading.Barrier(4)

        def meet(request: dict[str, Any]) -> Answer:
            four.wait(timeout=10)
            return outage

        aws = ScriptedAws(all_successful, meet, meet, meet, meet)
        failures = SqsQueue(URL, aws=aws).enqueue(outgoing(500))
        assert len(aws.calls) == 5
        assert [failure.index for failure in failures] == list(range(10, 500))

    def test_a_call_refused_for_itself_does_not_stop_the_next(self) -> None:
        aws = ScriptedAws(refusal("BatchRequestTooLong", 400), all_successful)
        failures = SqsQueue(URL, aws=aws).enqueue(outgoing(12))
        assert [failure.index for failure in failures] == list(range(10))
        assert {(failure.code, failure.sender_fault) for failure in failures} == {("BatchRequestTooLong", False)}

    def test_a_queue_that_does_not_exist_is_nobodys_message_at_fault(self) -> None:
        aws = ScriptedAws(refusal("AWS.SimpleQueueService.NonExistentQueue", 400))
        (failure,) = SqsQueue(URL, aws=aws).enqueue(outgoing(1))
        assert not failure.sender_fault

    def test_what_is_refused_here_costs_no_call(self) -> None:
        aws = ScriptedAws()
        (failure,) = SqsQueue(URL, aws=aws).enqueue([OutgoingMessage("")])
        assert failure.sender_fault


class TestReceive:
    def test_asks_for_every_attribute_and_whole_seconds(self) -> None:
        aws = ScriptedAws({})
        queue = SqsQueue(URL, aws=aws)
        assert queue.receive(limit=7, wait=timedelta(seconds=2.9), visibility=timedelta(seconds=44.1)) == []
        assert aws.calls == [
            {
                "QueueUrl": URL,
                "MaxNumberOfMessages": 7,
                "WaitTimeSeconds": 2,
                "VisibilityTimeout": 45,
                "MessageSystemAttributeNames": ["All"],
                "MessageAttributeNames": ["All"],
            }
        ]

    def test_leaves_the_visibility_to_the_queue_unless_asked(self) -> None:
        aws = ScriptedAws({})
        SqsQueue(URL, aws=aws).receive(limit=1, wait=timedelta(0))
        assert "VisibilityTimeout" not in aws.calls[0]

    @pytest.mark.parametrize(
        ("attributes", "count"),
        [
            ({"Attributes": {"ApproximateReceiveCount": "7"}}, 7),
            ({"Attributes": {"ApproximateReceiveCount": "x"}}, 1),
            ({"Attributes": {"ApproximateReceiveCount": "0"}}, 1),
            ({"Attributes": {}}, 1),
            ({}, 1),
        ],
    )
    def test_an_odd_receive_count_counts_as_the_first(self, attributes: dict[str, Any], count: int) -> None:
        message = {"MessageId": "m-1", "ReceiptHandle": "rh-1", "Body": "body", **attributes}
        (got,) = SqsQueue(URL, aws=ScriptedAws({"Messages": [message]})).receive(limit=1, wait=timedelta(0))
        assert got.receive_count == count

    def test_keeps_attributes_that_are_text_and_leaves_out_the_others(self) -> None:
        attributes = {
            "trace": {"DataType": "String", "StringValue": "Root=1"},
            "picture": {"DataType": "Binary", "BinaryValue": b"\x00"},
        }
        message = {"MessageId": "m-1", "ReceiptHandle": "rh-1", "Body": "body", "MessageAttributes": attributes}
        (got,) = SqsQueue(URL, aws=ScriptedAws({"Messages": [message]})).receive(limit=1, wait=timedelta(0))
        assert got.attributes == {"trace": "Root=1"}

    @pytest.mark.parametrize(
        ("error", "code"),
        [
            (refusal("AccessDeniedException", 403), "AccessDeniedException"),
            (refusal("InternalFailure", 500), "InternalFailure"),
            (EndpointConnectionError(endpoint_url="http://canary"), "EndpointConnectionError"),
        ],
    )
    def test_a_failure_tells_its_code_and_no_foreign_text(self, error: Exception, code: str) -> None:
        with pytest.raises(QueueUnavailable) as caught:
            SqsQueue(URL, aws=ScriptedAws(error)).receive(limit=1, wait=timedelta(0))
        assert describe(caught.value) == f"queue unavailable: receive failed ({code})"

    def test_a_wait_that_the_read_timeout_would_cut_short_is_a_mistake_of_the_caller(self) -> None:
        queue = SqsQueue(URL, aws=ScriptedAws(), timeouts=Timeouts(connect=SECOND, read=5 * SECOND))
        with pytest.raises(ValueError, match="read timeout"):
            queue.receive(limit=1, wait=5 * SECOND)


class TestAckAndNack:
    def test_go_ten_at_a_time(self) -> None:
        aws = ScriptedAws(*[all_successful] * 4)
        queue = SqsQueue(URL, aws=aws)
        assert queue.ack(received(12)) == []
        assert queue.nack([(message, SECOND) for message in received(12)]) == []
        assert [len(call["Entries"]) for call in aws.calls] == [10, 2, 10, 2]

    def test_an_entry_that_sqs_refused_or_forgot_is_returned(self) -> None:
        answer = {
            "Successful": [{"Id": "0"}],
            "Failed": [{"Id": "1", "Code": "ReceiptHandleIsInvalid", "SenderFault": True, "Message": "canary"}],
        }
        messages = received(3)
        assert SqsQueue(URL, aws=ScriptedAws(answer)).ack(messages) == messages[1:]
        assert SqsQueue(URL, aws=ScriptedAws(answer)).nack([(m, SECOND) for m in messages]) == messages[1:]

    @pytest.mark.parametrize("outage", [refusal("RequestThrottled", 400), EndpointConnectionError(endpoint_url=URL)])
    def test_an_outage_ends_the_calls_and_what_is_left_is_returned_too(self, outage: Exception) -> None:
        messages = received(32)
        aws = ScriptedAws(all_successful, outage)
        assert SqsQueue(URL, aws=aws).ack(messages) == messages[10:]
        assert len(aws.calls) == 2

    @pytest.mark.parametrize("code", ["AccessDenied", "ReceiptHandleIsInvalid"])
    def test_a_refused_call_does_not_stop_the_next_and_raises_nothing(self, code: str) -> None:
        messages = received(12)
        aws = ScriptedAws(refusal(code, 403), all_successful)
        assert SqsQueue(URL, aws=aws).nack([(message, SECOND) for message in messages]) == messages[:10]

    @pytest.mark.parametrize(
        ("delay", "asked"),
        [
            (timedelta(seconds=-1), 0),
            (timedelta(0), 0),
            (timedelta(milliseconds=1), 1),
            (timedelta(seconds=300), 300),
            (timedelta(seconds=300.5), 301),
            (timedelta(hours=12), 43_200),
            (timedelta.max, 43_200),
            (timedelta.min, 0),
        ],
    )
    def test_a_delay_is_whole_seconds_within_what_sqs_allows(self, delay: timedelta, asked: int) -> None:
        aws = ScriptedAws(all_successful)
        SqsQueue(URL, aws=aws).nack([(received(1)[0], delay)])
        assert [entry["VisibilityTimeout"] for entry in aws.calls[0]["Entries"]] == [asked]

    def test_two_receives_of_one_message_are_two_entries_and_one_handle_is_one(self) -> None:
        aws = ScriptedAws(all_successful)
        message, copy = ReceivedMessage("m-1", "rh-1", "body"), ReceivedMessage("m-1", "rh-2", "body")
        assert SqsQueue(URL, aws=aws).ack([message, copy, message]) == []
        assert [entry["ReceiptHandle"] for entry in aws.calls[0]["Entries"]] == ["rh-1", "rh-2"]

    def test_a_refused_handle_returns_every_message_that_has_it(self) -> None:
        message = received(1)[0]
        assert SqsQueue(URL, aws=ScriptedAws({})).ack([message, message]) == [message, message]


class Recorder(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)


class TestLogging:
    @pytest.fixture
    def lines(self) -> Iterator[list[logging.LogRecord]]:
        recorder = Recorder()
        underlying = logging.getLogger(logger.name)
        underlying.addHandler(recorder)
        yield recorder.records
        underlying.removeHandler(recorder)

    def test_a_failed_call_leaves_one_line_with_its_code_and_no_foreign_text(
        self, lines: list[logging.LogRecord]
    ) -> None:
        SqsQueue(URL, aws=ScriptedAws(refusal("AccessDenied", 403))).nack([(received(1)[0], SECOND)])
        (line,) = [vars(record) for record in lines]
        assert line["msg"] == "queue.call_failed"
        assert (line["operation"], line["queue"], line["code"]) == ("nack", "skincare-payments", "AccessDenied")
        assert "canary" not in str(line)

    def test_refused_entries_leave_one_line_with_their_codes(self, lines: list[logging.LogRecord]) -> None:
        answer = {"Failed": [{"Id": "0", "Code": "ReceiptHandleIsInvalid", "SenderFault": True, "Message": "canary"}]}
        SqsQueue(URL, aws=ScriptedAws(answer)).ack(received(1))
        (line,) = [vars(record) for record in lines]
        assert (line["msg"], line["codes"]) == ("queue.entries_refused", ["ReceiptHandleIsInvalid"])
        assert "canary" not in str(line)
