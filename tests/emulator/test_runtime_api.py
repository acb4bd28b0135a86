"""The Runtime API believes the container that has the event, and nobody else."""

import http.client
import queue
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from emulator.functions.runtime_api import Answered, Failed, Invocation, Outcome, RuntimeApi

NEXT = "/2018-06-01/runtime/invocation/next"


def answer_of(request_id: str, kind: str = "response") -> str:
    return f"/2018-06-01/runtime/invocation/{request_id}/{kind}"


def invocation(request_id: str) -> Invocation:
    return Invocation(request_id, b"{}", datetime.now(UTC) + timedelta(minutes=1), "arn:x", "Root=1")


class Unreachable(queue.SimpleQueue[Outcome]):
    """Takes nothing."""

    def put(self, item: Outcome, block: bool = True, timeout: float | None = None) -> None:
        raise OSError


@pytest.fixture
def api() -> Iterator[RuntimeApi]:
    api = RuntimeApi()
    yield api
    api.close()


def call(api: RuntimeApi, method: str, path: str, body: bytes = b"", **headers: str) -> int:
    connection = http.client.HTTPConnection(api.address, timeout=10)
    try:
        connection.request(method, path, body, {name.replace("_", "-"): text for name, text in headers.items()})
        return connection.getresponse().status
    finally:
        connection.close()


def hand_out(api: RuntimeApi, request_id: str) -> None:
    api.offer(invocation(request_id))
    assert call(api, "GET", NEXT) == 200


class TestAnAnswer:
    def test_of_the_event_that_is_out_counts(self, api: RuntimeApi) -> None:
        hand_out(api, "r-1")
        assert call(api, "POST", answer_of("r-1"), b'"mine"') == 202
        assert api.outcomes.get(timeout=10) == Answered(b'"mine"')

    def test_may_be_an_error(self, api: RuntimeApi) -> None:
        hand_out(api, "r-1")
        assert call(api, "POST", answer_of("r-1", "error"), b'{"errorType": "A", "errorMessage": "b"}') == 202
        assert api.outcomes.get(timeout=10) == Failed("A", "b")

    @pytest.mark.parametrize(
        ("path", "status"),
        [
            (answer_of("r-2"), 400),
            (answer_of(""), 404),
            ("/", 404),
            ("/response", 404),
            ("/2018-06-01/runtime/init/error", 404),
        ],
    )
    def test_of_another_event_or_path_does_not(self, api: RuntimeApi, path: str, status: int) -> None:
        hand_out(api, "r-1")
        assert call(api, "POST", path, b'"forged"') == status
        assert call(api, "POST", answer_of("r-1"), b'"mine"') == 202
        assert api.outcomes.get(timeout=10) == Answered(b'"mine"')
        assert api.outcomes.empty()

    def test_counts_once(self, api: RuntimeApi) -> None:
        hand_out(api, "r-1")
        assert [call(api, "POST", answer_of("r-1"), b"1") for _ in range(2)] == [202, 400]
        hand_out(api, "r-2")
        assert call(api, "POST", answer_of("r-1"), b"1") == 400
        assert api.outcomes.get(timeout=10) == Answered(b"1")
        assert api.outcomes.empty()

    def test_before_any_event_is_out_does_not_count(self, api: RuntimeApi) -> None:
        assert call(api, "POST", answer_of("r-1"), b"1") == 400
        assert api.outcomes.empty()

    @pytest.mark.parametrize(
        ("path", "body"),
        [
            (answer_of("r-1"), b'"mine"'),
            (answer_of("r-1", "error"), b"{}"),
            ("/2018-06-01/runtime/init/error", b"{}"),
        ],
    )
    def test_is_acknowledged_only_when_whoever_waits_has_it(self, api: RuntimeApi, path: str, body: bytes) -> None:
        """A container may end upon the acknowledgement: its answer is not to be lost to its end."""
        if "init" not in path:
            hand_out(api, "r-1")
        api.outcomes = Unreachable()
        with pytest.raises(http.client.RemoteDisconnected):
            call(api, "POST", path, body)

    @pytest.mark.parametrize("length", ["-1", "many", "9" * 30])
    def test_whose_length_nobody_knows_does_not_count(self, api: RuntimeApi, length: str) -> None:
        hand_out(api, "r-1")
        assert call(api, "POST", answer_of("r-1"), Content_Length=length) == 400
        assert api.outcomes.empty()


class TestTheNextEvent:
    def test_is_given_to_nobody_while_one_is_out(self, api: RuntimeApi) -> None:
        hand_out(api, "r-1")
        api.offer(invocation("r-2"))
        assert call(api, "GET", NEXT) == 403

    def test_is_waited_for(self, api: RuntimeApi) -> None:
        statuses: list[int] = []
        waiting = threading.Thread(target=lambda: statuses.append(call(api, "GET", NEXT)))
        waiting.start()
        assert api.ready.wait(10)
        api.offer(invocation("r-1"))
        waiting.join(timeout=10)
        assert statuses == [200]
