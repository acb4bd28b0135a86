"""The arithmetic of `make bench`: what a ratio, a slope and a percentile are."""

from collections.abc import Callable

import pytest

from bench.figure import Figure, at_least, at_most
from bench.rounds import Stalled, alternate_us, interleave, percentile, ratios, slope


def scripted(*values: float | None) -> Callable[[], float]:
    """Return a variant with these values, round by round; None stalls."""
    each = iter(values)

    def run() -> float:
        value = next(each)
        if value is None:
            raise Stalled("a client ended")
        return value

    return run


class TestRounds:
    def test_run_every_variant_once_and_turn_round_every_other_time(self) -> None:
        ran: list[str] = []

        def variant(name: str) -> float:
            ran.append(name)
            return float(len(ran))

        values = interleave({"a": lambda: variant("a"), "b": lambda: variant("b")}, rounds=3)
        assert ran == ["a", "b", "b", "a", "a", "b"]
        assert values == {"a": [1.0, 4.0, 5.0], "b": [2.0, 3.0, 6.0]}

    def test_leave_one_out_in_which_something_stalled_for_all_variants(self) -> None:
        # The second round goes the other way, so "b" comes first and "a" is not asked.
        values = interleave({"a": scripted(1.0, 3.0, None), "b": scripted(4.0, None, 6.0, 8.0)}, rounds=4)
        assert values == {"a": [1.0, 3.0], "b": [4.0, 6.0]}

    def test_say_nothing_where_most_stalled(self) -> None:
        with pytest.raises(Stalled, match="a client ended"):
            interleave({"a": scripted(None, 1.0, None)}, rounds=3)

    def test_pass_any_other_error_on(self) -> None:
        def broken() -> float:
            raise RuntimeError("2 of 3 mails were sent")

        with pytest.raises(RuntimeError, match="2 of 3"):
            interleave({"a": broken}, rounds=3)

    def test_compare_what_ran_in_the_same_round(self) -> None:
        assert ratios([2.0, 40.0], [1.0, 10.0]) == [2.0, 4.0]

    def test_of_different_length_are_not_compared(self) -> None:
        with pytest.raises(ValueError, match="shorter"):
            ratios([1.0, 2.0], [1.0])

    def test_call_by_call_let_each_call_run_as_often(self) -> None:
        ran: list[str] = []
        assert len(alternate_us([lambda: ran.append("a"), lambda: ran.append("b")], times=3)) == 2
        assert ran == ["a", "b", "b", "a", "a", "b"]


class TestAPercentile:
    @pytest.mark.parametrize(("percent", "expected"), [(1, 1), (50, 5), (51, 6), (90, 9), (99, 10), (100, 10)])
    def test_is_one_of_the_values(self, percent: float, expected: float) -> None:
        assert percentile([10, 9, 8, 7, 6, 5, 4, 3, 2, 1], percent) == expected

    @pytest.mark.parametrize("percent", [0, -1, 100.1])
    def test_is_not_outside_of_all_values(self, percent: float) -> None:
        with pytest.raises(ValueError, match="is not within"):
            percentile([1.0], percent)


class TestASlope:
    def test_of_a_line_is_its_rise(self) -> None:
        assert slope([(0, 1), (2, 5), (5, 11)]) == pytest.approx(2)

    def test_of_points_beside_a_line_is_that_of_least_squares(self) -> None:
        assert slope([(0, 0), (1, 2), (2, 1)]) == pytest.approx(0.5)

    def test_needs_two_different_points(self) -> None:
        with pytest.raises(ValueError, match="two different"):
            slope([(1, 1), (1, 2)])


class TestAFigure:
    def test_is_the_median_of_its_rounds(self) -> None:
        assert Figure("a", "a", [3.0, 1.0, 100.0]).value == 3.0

    def test_keeps_to_its_aim_or_not(self) -> None:
        assert Figure("a", "a", [1.1], aim=at_most(1.1)).is_met is True
        assert Figure("a", "a", [1.2], aim=at_most(1.1)).is_met is False
        assert Figure("a", "a", [0.8], aim=at_least(0.8)).is_met is True
        assert Figure("a", "a", [0.7], aim=at_least(0.8)).is_met is False
        assert Figure("a", "a", [0.7]).is_met is None
