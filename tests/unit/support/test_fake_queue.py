"""What the queue in memory does beyond the contract: what SQS may do, seldom does, and what tests ask for."""

import threading
from datetime import timedelta

import pytest

from skincare.jobs.ports import OutgoingMessage, QueueUnavailable, ReceivedMessage
from tests.fakes.queue import MemoryQueue

NOW = timedelta(0)
VISIBILITY = timedelta(seconds=30)


class Clock:
    def __init__(self) -> None:
        self.seconds = 1_000_000.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def queue(clock: Clock) -> MemoryQueue:
    return MemoryQueue(visibility=VISIBILITY, now=clock)


def send(queue: MemoryQueue, *bodies: str) -> None:
    assert queue.enqueue([OutgoingMessage(body) for body in bodies]) == []


def take(queue: MemoryQueue, limit: int = 10) -> list[ReceivedMessage]:
    return queue.receive(limit=limit, wait=NOW)


class TestHandles:
    def test_an_older_handle_deletes_nothing(self, queue: MemoryQueue, clock: Clock) -> None:
        send(queue, "a")
        (older,) = take(queue)
        clock.seconds += 31
        (newer,) = take(queue)
        assert queue.ack([older]) == []
        assert [stored.body for stored in queue.all()] == ["a"]
        assert queue.ack([newer]) == []
        assert queue.all() == []

    def test_the_newest_handle_still_deletes_after_the_visibility_ran_out(
        self, queue: MemoryQueue, clock: Clock
    ) -> None:
        send(queue, "a")
        (taken,) = take(queue)
        clock.seconds += 31
        assert queue.ack([taken]) == []
        assert queue.all() == []

    def test_an_older_handle_cannot_hide(self, queue: MemoryQueue, clock: Clock) -> None:
        send(queue, "a")
        (older,) = take(queue)
        clock.seconds += 31
        take(queue)
        assert queue.nack([(older, NOW)]) == [older]
        assert queue.visible() == []

    def test_a_message_that_is_visible_again_cannot_be_hidden(self, queue: MemoryQueue, clock: Clock) -> None:
        send(queue, "a")
        (taken,) = take(queue)
        clock.seconds += 30
        assert queue.nack([(taken, timedelta(seconds=60))]) == [taken]
        assert len(queue.visible()) == 1


class TestTwelveHours:
    def test_a_delay_may_end_exactly_then(self, queue: MemoryQueue, clock: Clock) -> None:
        send(queue, "a")
        (taken,) = take(queue)
        clock.seconds += 10
        assert queue.nack([(taken, timedelta(hours=12) - timedelta(seconds=10))]) == []

    def test_a_delay_may_not_end_later(self, queue: MemoryQueue, clock: Clock) -> None:
        send(queue, "a")
        (taken,) = take(queue)
        clock.seconds += 10
        assert queue.nack([(taken, timedelta(hours=12) - timedelta(seconds=9))]) == [taken]

    def test_the_hours_count_anew_from_the_next_receive(self, queue: MemoryQueue, clock: Clock) -> None:
        send(queue, "a")
        (first,) = take(queue)
        assert queue.nack([(first, timedelta(hours=12))]) == []
        clock.seconds += 12 * 3600
        (second,) = take(queue)
        assert queue.nack([(second, timedelta(hours=12))]) == []


class TestDuplicates:
    def test_a_message_comes_twice_in_one_batch_with_two_handles(self, queue: MemoryQueue) -> None:
        send(queue, "a", "b")
        queue.deliver_twice(queue.all()[0].message_id)
        taken = take(queue)
        assert [message.body for message in taken] == ["a", "a", "b"]
        assert taken[0].message_id == taken[1].message_id
        assert taken[0].receipt_handle != taken[1].receipt_handle
        assert [message.receive_count for message in taken[:2]] == [1, 2]

    def test_the_copy_comes_once_only(self, queue: MemoryQueue, clock: Clock) -> None:
        send(queue, "a")
        queue.deliver_twice(queue.all()[0].message_id)
        take(queue)
        clock.seconds += 31
        assert len(take(queue)) == 1

    def test_a_copy_does_not_break_the_limit(self, queue: MemoryQueue) -> None:
        send(queue, "a", "b")
        queue.deliver_twice(queue.all()[1].message_id)
        assert [message.body for message in take(queue, limit=2)] == ["a", "b"]

    def test_a_message_in_flight_is_received_again(self, queue: MemoryQueue) -> None:
        send(queue, "a")
        (first,) = take(queue)
        queue.redeliver(first.message_id)
        (second,) = take(queue)
        assert (second.message_id, second.receive_count) == (first.message_id, 2)

    def test_a_deleted_message_is_received_again(self, queue: MemoryQueue) -> None:
        send(queue, "a")
        (first,) = take(queue)
        queue.ack([first])
        queue.redeliver(first.message_id)
        (second,) = take(queue)
        assert (second.body, second.receive_count) == ("a", 2)


class TestDeadLettering:
    def test_a_moved_message_keeps_its_id_its_count_and_the_time_it_was_sent(self, clock: Clock) -> None:
        dead_letters = MemoryQueue(now=clock)
        queue = MemoryQueue(visibility=VISIBILITY, dead_letters=dead_letters, max_receive_count=1, now=clock)
        send(queue, "poison")
        (sent,) = queue.all()
        take(queue)
        clock.seconds += 31
        assert (len(queue.visible()), dead_letters.all()) == (1, [])
        take(queue)
        (dead,) = dead_letters.all()
        assert (dead.message_id, dead.receive_count, dead.sent_at) == (sent.message_id, 1, sent.sent_at)
        assert queue.all() == []

    def test_what_was_sent_to_the_dead_letters_and_what_moved_there_stay_apart(self, clock: Clock) -> None:
        dead_letters = MemoryQueue(now=clock)
        queue = MemoryQueue(visibility=NOW, dead_letters=dead_letters, max_receive_count=1, now=clock)
        send(queue, "moved")
        send(dead_letters, "sent")
        take(queue)
        take(queue)
        assert sorted(stored.body for stored in dead_letters.all()) == ["moved", "sent"]


class TestFaults:
    def test_one_entry_of_a_call_fails_and_the_others_go(self, queue: MemoryQueue) -> None:
        queue.fail_next("enqueue", entries=[1], code="InternalError")
        failures = queue.enqueue([OutgoingMessage(body) for body in "abc"])
        assert [(f.index, f.code, f.sender_fault) for f in failures] == [(1, "InternalError", False)]
        assert [stored.body for stored in queue.all()] == ["a", "c"]

    def test_an_entry_may_be_the_senders_fault(self, queue: MemoryQueue) -> None:
        queue.fail_next("enqueue", entries=[0], code="InvalidMessageContents", sender_fault=True)
        (failure,) = queue.enqueue([OutgoingMessage("a")])
        assert failure.sender_fault

    def test_only_as_many_calls_fail_as_were_asked_for(self, queue: MemoryQueue) -> None:
        queue.fail_next("enqueue", times=2)
        answers = [queue.enqueue([OutgoingMessage("a")]) for _ in range(3)]
        assert [len(answer) for answer in answers] == [1, 1, 0]

    def test_a_send_whose_answer_is_lost_is_reported_and_arrives(self, queue: MemoryQueue) -> None:
        queue.fail_next("enqueue", acted=True)
        assert [failure.code for failure in queue.enqueue([OutgoingMessage("a")])] == ["Unavailable"]
        assert [stored.body for stored in queue.all()] == ["a"]

    def test_a_receive_whose_answer_is_lost_hides_the_messages(self, queue: MemoryQueue) -> None:
        send(queue, "a")
        queue.fail_next("receive", acted=True)
        with pytest.raises(QueueUnavailable, match="Unavailable"):
            take(queue)
        assert [stored.receive_count for stored in queue.in_flight()] == [1]

    def test_a_receive_that_fails_leaves_the_messages_alone(self, queue: MemoryQueue) -> None:
        send(queue, "a")
        queue.fail_next("receive", code="AccessDenied")
        with pytest.raises(QueueUnavailable, match="AccessDenied"):
            take(queue)
        assert len(take(queue)) == 1

    def test_one_entry_of_an_ack_and_of_a_nack_fails(self, queue: MemoryQueue) -> None:
        send(queue, "a", "b", "c")
        first, second, third = take(queue)
        queue.fail_next("nack", entries=[0])
        assert queue.nack([(first, NOW), (second, NOW)]) == [first]
        assert [stored.body for stored in queue.visible()] == ["b"]
        queue.fail_next("ack", entries=[1])
        assert queue.ack([first, third]) == [third]
        assert sorted(stored.body for stored in queue.all()) == ["b", "c"]

    def test_an_ack_whose_answer_is_lost_deletes(self, queue: MemoryQueue) -> None:
        send(queue, "a")
        (taken,) = take(queue)
        queue.fail_next("ack", acted=True)
        assert queue.ack([taken]) == [taken]
        assert queue.all() == []

    def test_an_outage_lasts_until_it_is_over(self, queue: MemoryQueue) -> None:
        queue.down = True
        assert len(queue.enqueue([OutgoingMessage("a")])) == 1
        with pytest.raises(QueueUnavailable):
            take(queue)
        queue.down = False
        send(queue, "b")
        assert [message.body for message in take(queue)] == ["b"]


class TestViews:
    def test_tell_what_is_visible_and_what_is_in_flight(self, queue: MemoryQueue, clock: Clock) -> None:
        send(queue, "a", "b")
        take(queue, limit=1)
        assert [stored.body for stored in queue.in_flight()] == ["a"]
        assert [stored.body for stored in queue.visible()] == ["b"]
        clock.seconds += 30
        assert [stored.body for stored in queue.visible()] == ["a", "b"]

    def test_do_not_show_what_expired(self, clock: Clock) -> None:
        queue = MemoryQueue(retention=timedelta(minutes=1), now=clock)
        send(queue, "a")
        clock.seconds += 60
        assert queue.all() == []

    def test_a_purge_loses_everything(self, queue: MemoryQueue, clock: Clock) -> None:
        send(queue, "a", "b")
        (taken,) = take(queue, limit=1)
        queue.purge()
        clock.seconds += 31
        assert (queue.all(), take(queue)) == ([], [])
        assert queue.ack([taken]) == []


class TestThreads:
    def test_each_message_is_taken_by_one_of_many(self) -> None:
        queue = MemoryQueue()
        taken: list[str] = []
        ready = threading.Barrier(9)

        def produce() -> None:
            ready.wait(timeout=10)
            for number in range(200):
                send(queue, str(number))

        def consume() -> None:
            ready.wait(timeout=10)
            while batch := queue.receive(limit=7, wait=timedelta(seconds=1)):
                assert queue.ack(batch) == []
                taken.extend(message.body for message in batch)

        threads = [threading.Thread(target=produce), *(threading.Thread(target=consume) for _ in range(8))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=20)
        assert sorted(taken, key=int) == [str(number) for number in range(200)]
        assert queue.all() == []
