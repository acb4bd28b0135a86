"""When a failed job is tried again."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skincare.errors import PermanentError, TransientError
from skincare.jobs.retry import DeadLetter, Retry, backoff_delay, decide

HOUR = timedelta(hours=1)


class TestBackoff:
    @pytest.mark.parametrize(
        ("attempts", "seconds"),
        [(-1, 5), (0, 5), (1, 2), (2, 4), (3, 8), (4, 16), (5, 32), (6, 64), (7, 128), (8, 256), (9, 300), (1000, 300)],
    )
    def test_doubles_from_two_seconds_to_five_minutes(self, attempts: int, seconds: int) -> None:
        assert backoff_delay(attempts, jitter=lambda: 0.0) == timedelta(seconds=seconds)

    @given(st.integers(-1, 1000))
    def test_jitter_adds_up_to_a_fifth_and_stays_within_what_a_visibility_can_be(self, attempts: int) -> None:
        plain = backoff_delay(attempts, jitter=lambda: 0.0)
        assert plain <= backoff_delay(attempts) <= 1.2 * plain <= timedelta(seconds=900)

    @given(st.integers(1, 1000))
    def test_never_shrinks(self, attempts: int) -> None:
        assert backoff_delay(attempts, jitter=lambda: 0.0) <= backoff_delay(attempts + 1, jitter=lambda: 0.0)


class TestDecide:
    def test_what_is_permanent_is_dead_at_once(self) -> None:
        assert decide(PermanentError("no such order"), attempts=1, age=HOUR / 60, budget=HOUR) == DeadLetter(
            "PermanentError", "no such order"
        )

    def test_what_is_transient_waits_for_its_backoff(self) -> None:
        outcome = decide(TransientError("busy"), attempts=3, age=HOUR / 60, budget=HOUR)
        assert isinstance(outcome, Retry)
        assert timedelta(seconds=8) <= outcome.delay <= timedelta(seconds=9.6)

    def test_the_other_side_may_ask_for_a_wait_but_not_for_ever(self) -> None:
        for asked, given_ in ((30, 30), (86_400, 900)):
            error = TransientError("slow down", retry_after=timedelta(seconds=asked))
            assert decide(error, attempts=1, age=HOUR / 60, budget=HOUR) == Retry(
                timedelta(seconds=given_), "TransientError", "slow down"
            )

    def test_a_bug_is_retried_and_its_text_is_not_kept(self) -> None:
        outcome = decide(ValueError("buyer@example.com"), attempts=1, age=HOUR / 60, budget=HOUR)
        assert isinstance(outcome, Retry)
        assert outcome.error_class == "ValueError"
        assert "buyer" not in outcome.error_message

    @pytest.mark.parametrize("error", [TransientError("busy"), ValueError("bug")])
    def test_a_spent_budget_ends_it(self, error: Exception) -> None:
        outcome = decide(error, attempts=40, age=HOUR, budget=HOUR)
        assert isinstance(outcome, DeadLetter)
        assert "retry budget of 1 h spent" in outcome.error_message
