"""What every queue promises, whatever it is made of. A subclass provides the `bench` fixture."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

import pytest

from skincare.adapters.message_limits import MAX_BYTES
from skincare.jobs.ports import OutgoingMessage, Queue, QueueUnavailable, ReceivedMessage
from tests.support.aws import ShiftedClock

VISIBILITY = timedelta(seconds=30)
RETENTION = timedelta(days=4)
DEAD_LETTER_RETENTION = timedelta(days=14)
MAX_RECEIVE_COUNT = 3

NOW = timedelta(0)
SECOND = timedelta(seconds=1)


@dataclass
class Bench:
    """A queue set up with the constants above, the dead-letter queue behind it, and their clock."""

    source: Queue
    dead_letters: Queue
    unreachable: Queue
    """A queue whose service does not answer."""
    clock: ShiftedClock


def send(queue: Queue, *bodies: str) -> None:
    assert queue.enqueue([OutgoingMessage(body) for body in bodies]) == []


def take(queue: Queue, limit: int = 10) -> list[ReceivedMessage]:
    return queue.receive(limit=limit, wait=NOW)


def take_one(queue: Queue) -> ReceivedMessage:
    (message,) = take(queue)
    return message


def bodies_of(messages: Sequence[ReceivedMessage]) -> list[str]:
    return sorted(message.body for message in messages)


class QueueContract:
    """The suite."""

    class TestSending:
        def test_a_message_arrives_with_its_body_and_attributes(self, bench: Bench) -> None:
            sent = OutgoingMessage('{"id":"1"}', {"trace": "Root=1-2-3", "kind": "dead letter"})
            assert bench.source.enqueue([sent]) == []
            received = take_one(bench.source)
            assert (received.body, dict(received.attributes)) == (sent.body, dict(sent.attributes))
            assert received.receive_count == 1

        def test_every_legal_character_arrives_as_it_was_sent(self, bench: Bench) -> None:
            body = "\t\n\r é — 测试 🌸 \ud7ff\ue000\ufffd </Body>&"
            send(bench.source, body)
            assert take_one(bench.source).body == body

        def test_more_messages_than_one_call_takes_all_arrive(self, bench: Bench) -> None:
            send(bench.source, *[f"body {n}" for n in range(23)])
            received = [message for _ in range(3) for message in take(bench.source)]
            assert bodies_of(received) == sorted(f"body {n}" for n in range(23))

        def test_nothing_to_send_is_fine(self, bench: Bench) -> None:
            assert bench.source.enqueue([]) == []

        @pytest.mark.parametrize(
            ("refused", "code"),
            [
                (OutgoingMessage(""), "EmptyMessage"),
                (OutgoingMessage("Ani\x00"), "InvalidMessageContents"),
                (OutgoingMessage("\x0b"), "InvalidMessageContents"),
                (OutgoingMessage("\ufffe"), "InvalidMessageContents"),
                (OutgoingMessage("\ud800"), "InvalidMessageContents"),
                (OutgoingMessage("a" * (MAX_BYTES + 1)), "MessageTooLong"),
                (OutgoingMessage("é" * (MAX_BYTES // 2) + "a"), "MessageTooLong"),
                (OutgoingMessage("a" * (MAX_BYTES - 10), {"trace": "x"}), "MessageTooLong"),
                (OutgoingMessage("body", {"trace": ""}), "InvalidMessageAttributes"),
                (OutgoingMessage("body", {"AWS.trace": "x"}), "InvalidMessageAttributes"),
                (OutgoingMessage("body", {"trace": "\x00"}), "InvalidMessageAttributes"),
                (OutgoingMessage("body", {f"name{n}": "x" for n in range(11)}), "InvalidMessageAttributes"),
            ],
            ids=lambda value: value if isinstance(value, str) else "",
        )
        def test_a_message_that_breaks_a_rule_is_the_senders_fault_and_its_neighbours_go(
            self, bench: Bench, refused: OutgoingMessage, code: str
        ) -> None:
            failures = bench.source.enqueue([OutgoingMessage("first"), refused, OutgoingMessage("third")])
            assert [(failure.index, failure.code, failure.sender_fault) for failure in failures] == [(1, code, True)]
            assert bodies_of(take(bench.source)) == ["first", "third"]

        def test_a_message_of_exactly_the_limit_arrives(self, bench: Bench) -> None:
            body = "a" * (MAX_BYTES - len("trace") - len("String") - len("x"))
            assert bench.source.enqueue([OutgoingMessage(body, {"trace": "x"})]) == []
            assert len(take_one(bench.source).body) == len(body)

        def test_messages_that_are_too_long_together_all_arrive(self, bench: Bench) -> None:
            send(bench.source, "a" * 600_000, "b" * 600_000, "c" * 400_000, "d")
            assert [body[0] for body in bodies_of(take(bench.source))] == ["a", "b", "c", "d"]

    class TestReceiving:
        def test_an_empty_queue_gives_nothing(self, bench: Bench) -> None:
            assert take(bench.source) == []

        def test_no_more_than_the_limit_is_taken_and_the_rest_stays(self, bench: Bench) -> None:
            send(bench.source, "a", "b", "c", "d", "e")
            first, rest = take(bench.source, limit=3), take(bench.source)
            assert (len(first), bodies_of(first + rest)) == (3, ["a", "b", "c", "d", "e"])

        def test_a_taken_message_is_hidden_until_its_visibility_runs_out(self, bench: Bench) -> None:
            send(bench.source, "a")
            first = take_one(bench.source)
            bench.clock.advance(VISIBILITY - SECOND)
            assert take(bench.source) == []
            bench.clock.advance(2 * SECOND)
            second = take_one(bench.source)
            assert second.message_id == first.message_id
            assert second.receipt_handle != first.receipt_handle
            assert second.receive_count == 2

        def test_a_receive_may_ask_for_another_visibility(self, bench: Bench) -> None:
            send(bench.source, "a")
            bench.source.receive(limit=1, wait=NOW, visibility=timedelta(seconds=90))
            bench.clock.advance(timedelta(seconds=89))
            assert take(bench.source) == []
            bench.clock.advance(2 * SECOND)
            assert take_one(bench.source).receive_count == 2

        def test_a_receive_may_ask_for_no_visibility_at_all(self, bench: Bench) -> None:
            send(bench.source, "a")
            bench.source.receive(limit=1, wait=NOW, visibility=NOW)
            bench.clock.advance(timedelta(milliseconds=10))
            assert take_one(bench.source).receive_count == 2

        def test_a_message_expires_after_its_retention(self, bench: Bench) -> None:
            send(bench.source, "a")
            bench.clock.advance(RETENTION + SECOND)
            assert take(bench.source) == []

        @pytest.mark.parametrize("limit", [0, -1, 11])
        def test_a_limit_out_of_bounds_is_a_mistake_of_the_caller(self, bench: Bench, limit: int) -> None:
            with pytest.raises(ValueError, match="limit"):
                bench.source.receive(limit=limit, wait=NOW)

        @pytest.mark.parametrize("seconds", [-1, 21])
        def test_a_wait_out_of_bounds_is_a_mistake_of_the_caller(self, bench: Bench, seconds: int) -> None:
            with pytest.raises(ValueError, match="wait"):
                bench.source.receive(limit=1, wait=timedelta(seconds=seconds))

        @pytest.mark.parametrize("visibility", [-SECOND, timedelta(hours=12, seconds=1)])
        def test_a_visibility_out_of_bounds_is_a_mistake_of_the_caller(
            self, bench: Bench, visibility: timedelta
        ) -> None:
            with pytest.raises(ValueError, match="visibility"):
                bench.source.receive(limit=1, wait=NOW, visibility=visibility)

    class TestAcking:
        def test_an_acked_message_never_comes_back(self, bench: Bench) -> None:
            send(bench.source, "a", "b")
            taken = take(bench.source)
            assert bench.source.ack([message for message in taken if message.body == "a"]) == []
            bench.clock.advance(VISIBILITY + SECOND)
            assert bodies_of(take(bench.source)) == ["b"]

        def test_more_messages_than_one_call_takes_are_all_acked(self, bench: Bench) -> None:
            send(bench.source, *[f"body {n}" for n in range(13)])
            assert bench.source.ack(take(bench.source) + take(bench.source)) == []
            bench.clock.advance(VISIBILITY + SECOND)
            assert take(bench.source) == []

        def test_acking_again_is_no_refusal(self, bench: Bench) -> None:
            send(bench.source, "a")
            message = take_one(bench.source)
            assert bench.source.ack([message, message]) == []
            assert bench.source.ack([message]) == []

        def test_an_ack_with_an_older_handle_is_no_refusal(self, bench: Bench) -> None:
            send(bench.source, "a")
            older = take_one(bench.source)
            bench.clock.advance(VISIBILITY + SECOND)
            take_one(bench.source)
            assert bench.source.ack([older]) == []

        def test_a_handle_that_never_was_is_refused_and_its_neighbours_are_deleted(self, bench: Bench) -> None:
            send(bench.source, "a", "b")
            first, second = take(bench.source)
            stranger = ReceivedMessage("nobody", "never-a-handle", "x")
            assert bench.source.ack([first, stranger, second]) == [stranger]
            bench.clock.advance(VISIBILITY + SECOND)
            assert take(bench.source) == []

        def test_nothing_to_ack_is_fine(self, bench: Bench) -> None:
            assert bench.source.ack([]) == []

    class TestNacking:
        def test_a_message_comes_back_after_its_delay_and_not_before(self, bench: Bench) -> None:
            send(bench.source, "a")
            delay = timedelta(seconds=300)
            assert bench.source.nack([(take_one(bench.source), delay)]) == []
            bench.clock.advance(delay - SECOND)
            assert take(bench.source) == []
            bench.clock.advance(2 * SECOND)
            assert take_one(bench.source).receive_count == 2

        @pytest.mark.parametrize("delay", [NOW, timedelta(seconds=-5)])
        def test_no_delay_and_less_than_none_mean_at_once(self, bench: Bench, delay: timedelta) -> None:
            send(bench.source, "a")
            assert bench.source.nack([(take_one(bench.source), delay)]) == []
            bench.clock.advance(timedelta(milliseconds=10))
            assert take_one(bench.source).receive_count == 2

        def test_a_part_of_a_second_is_rounded_up(self, bench: Bench) -> None:
            send(bench.source, "a")
            assert bench.source.nack([(take_one(bench.source), timedelta(seconds=20.1))]) == []
            bench.clock.advance(timedelta(seconds=20.2))
            assert take(bench.source) == []
            bench.clock.advance(SECOND)
            assert take_one(bench.source).receive_count == 2

        def test_each_message_has_its_own_delay_beyond_ten_too(self, bench: Bench) -> None:
            send(bench.source, *[f"{n:02}" for n in range(12)])
            taken = take(bench.source) + take(bench.source)
            assert bench.source.nack([(m, timedelta(seconds=10 + 10 * int(m.body))) for m in taken]) == []
            bench.clock.advance(timedelta(seconds=65))
            assert bodies_of(take(bench.source)) == ["00", "01", "02", "03", "04", "05"]

        def test_a_delay_is_not_remembered_for_the_next_receive(self, bench: Bench) -> None:
            send(bench.source, "a")
            bench.source.nack([(take_one(bench.source), timedelta(seconds=2))])
            bench.clock.advance(3 * SECOND)
            take_one(bench.source)
            bench.clock.advance(VISIBILITY - SECOND)
            assert take(bench.source) == []

        def test_a_delay_that_ends_over_twelve_hours_after_the_receive_is_refused(self, bench: Bench) -> None:
            send(bench.source, "a")
            message = take_one(bench.source)
            bench.clock.advance(SECOND)
            assert bench.source.nack([(message, timedelta(hours=13))]) == [message]
            bench.clock.advance(VISIBILITY)
            assert take_one(bench.source).message_id == message.message_id

        def test_a_deleted_message_and_a_stranger_are_refused_and_their_neighbour_is_not(self, bench: Bench) -> None:
            send(bench.source, "deleted", "kept")
            deleted, kept = sorted(take(bench.source), key=lambda message: message.body)
            stranger = ReceivedMessage("nobody", "never-a-handle", "x")
            bench.source.ack([deleted])
            delay = timedelta(seconds=60)
            assert bench.source.nack([(deleted, delay), (kept, delay), (stranger, delay)]) == [deleted, stranger]
            bench.clock.advance(timedelta(seconds=59))
            assert take(bench.source) == []
            bench.clock.advance(2 * SECOND)
            assert bodies_of(take(bench.source)) == ["kept"]

        def test_nothing_to_nack_is_fine(self, bench: Bench) -> None:
            assert bench.source.nack([]) == []

    class TestDeadLettering:
        def test_a_message_moves_at_the_receive_after_its_last_and_not_before(self, bench: Bench) -> None:
            send(bench.source, "poison")
            for receive in range(1, MAX_RECEIVE_COUNT + 1):
                last = take_one(bench.source)
                assert last.receive_count == receive
                bench.clock.advance(VISIBILITY + SECOND)
            assert take(bench.dead_letters) == []
            assert take(bench.source) == []
            dead = take_one(bench.dead_letters)
            assert (dead.message_id, dead.body) == (last.message_id, "poison")
            assert dead.receive_count == MAX_RECEIVE_COUNT + 1

        def test_a_moved_message_leaves_its_neighbours_where_they_are(self, bench: Bench) -> None:
            send(bench.source, "poison")
            for _ in range(MAX_RECEIVE_COUNT):
                take_one(bench.source)
                bench.clock.advance(VISIBILITY + SECOND)
            send(bench.source, "healthy")
            assert bodies_of(take(bench.source)) == ["healthy"]
            assert bodies_of(take(bench.dead_letters)) == ["poison"]

        def test_a_move_does_not_prolong_the_life_of_a_message(self, bench: Bench) -> None:
            send(bench.source, "poison")
            bench.clock.advance(RETENTION - timedelta(hours=1))
            for _ in range(MAX_RECEIVE_COUNT + 1):
                take(bench.source)
                bench.clock.advance(VISIBILITY + SECOND)
            bench.clock.advance(DEAD_LETTER_RETENTION - RETENTION + timedelta(hours=1))
            assert take(bench.dead_letters) == []

        def test_a_dead_letter_is_acked_like_any_message(self, bench: Bench) -> None:
            send(bench.dead_letters, "sent there")
            assert bench.dead_letters.ack([take_one(bench.dead_letters)]) == []
            bench.clock.advance(VISIBILITY + SECOND)
            assert take(bench.dead_letters) == []

    class TestAnOutage:
        def test_every_entry_is_reported_unavailable_and_nobody_is_blamed(self, bench: Bench) -> None:
            failures = bench.unreachable.enqueue([OutgoingMessage("a"), OutgoingMessage("\x00"), OutgoingMessage("c")])
            assert [(f.index, f.code, f.sender_fault) for f in failures] == [
                (0, "Unavailable", False),
                (1, "InvalidMessageContents", True),
                (2, "Unavailable", False),
            ]

        def test_a_receive_raises(self, bench: Bench) -> None:
            with pytest.raises(QueueUnavailable, match="queue unavailable: receive failed"):
                take(bench.unreachable)

        def test_acks_and_nacks_report_every_message_and_do_not_raise(self, bench: Bench) -> None:
            messages = [ReceivedMessage(str(n), f"handle-{n}", "body") for n in range(12)]
            assert bench.unreachable.ack(messages) == messages
            assert bench.unreachable.nack([(message, SECOND) for message in messages]) == messages
