"""One seed for all that is drawn: a run can be had again, and the long form holds what draws."""

import re
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import cast

import pytest

from tests.support.randomness import USUAL, shuffled

pytest_plugins = ["pytester"]

TESTS = """
from hypothesis import given, settings, strategies as st
from tests.support.randomness import examples

def test_a(): ...
def test_b(): ...
def test_c(): ...

def test_kills(times, random_seed):
    print("\\ntried", times(short=3, long=50), "times from", random_seed)

drawn = []

@given(st.integers(0, 10**9))
def test_property(n):
    drawn.append(n)

dear = []

@settings(max_examples=examples(5))
@given(st.integers(0, 10**9))
def test_dear_property(n):
    dear.append(n)

def teardown_module():
    print("\\ndrawn", len(drawn), drawn[-3:])
    print("\\ndrawn dearly", len(dear), dear[-3:])
"""


CONFTEST = """
import pytest
from tests.support import randomness
from tests.support.randomness import random_seed, times

pytest_addoption = randomness.add_options
pytest_configure = pytest.hookimpl(tryfirst=True)(lambda config: randomness.settle(config))
pytest_configure_node = pytest.hookimpl(optionalhook=True)(
    lambda node: randomness.hand_on(node.config, node.workerinput)
)
pytest_report_header = lambda config: randomness.header(config)
pytest_collection_modifyitems = lambda config, items: randomness.choose(config, items)
"""


@pytest.fixture
def suite(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    monkeypatch.delenv("SEED", raising=False)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(test_something=TESTS)
    return pytester


def run(suite: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    """Run in another process: the seed of Hypothesis is one for the whole process."""
    return suite.runpytest_subprocess(
        "-v", "-s", "-p", "no:cacheprovider", "-p", "_hypothesis_pytestplugin", *arguments, timeout=60
    )


def said(suite: pytest.Pytester, *arguments: str) -> list[str]:
    """Return the seed, the tests in their order, and what they drew."""
    done = run(suite, *arguments)
    assert done.ret == 0, done.stdout.str()
    return [line.split("::")[-1] for line in done.outlines if re.match(r"seed: |test_something|tried|drawn", line)]


class TestARun:
    def test_draws_the_same_each_time_in_the_order_of_the_file(self, suite: pytest.Pytester) -> None:
        first = said(suite)
        assert first[0] == f"seed: {USUAL} (files in their order); the same again: SEED={USUAL}"
        assert [line.split()[0] for line in first if line.startswith("test_")] == [
            "test_a",
            "test_b",
            "test_c",
            "test_kills",
            "test_property",
            "test_dear_property",
        ]
        assert any(line.startswith("drawn dearly 5 ") for line in first)
        assert f"tried 3 times from {USUAL}" in first
        assert said(suite) == first

    def test_can_be_had_again_by_its_seed(self, suite: pytest.Pytester) -> None:
        picked = said(suite, "--seed=random")
        assert said(suite, f"--seed={picked[0].rpartition('=')[2]}") == picked
        assert "(order of the tests, too)" in picked[0]

    def test_in_several_processes_has_one_seed(self, suite: pytest.Pytester) -> None:
        """Each would refuse to run in another order than its neighbour's."""
        done = run(suite, "-p", "xdist", "-n", "2", "--seed=random")
        done.assert_outcomes(passed=6)

    def test_does_not_begin_with_a_seed_that_is_none(self, suite: pytest.Pytester) -> None:
        done = run(suite, "--seed=seven")
        assert done.ret == pytest.ExitCode.USAGE_ERROR
        assert "neither a number nor 'random'" in done.stderr.str()


class TestALongRun:
    def test_holds_what_draws_and_tries_more_often(self, suite: pytest.Pytester) -> None:
        lines = said(suite, "--long", "--seed=1")
        assert {line.split()[0] for line in lines if line.startswith("test_")} == {
            "test_kills",
            "test_property",
            "test_dear_property",
        }
        assert "tried 50 times from 1" in lines
        assert any(line.startswith("drawn 1000 ") for line in lines)
        assert any(line.startswith("drawn dearly 50 ") for line in lines)


@dataclass(frozen=True)
class Item:
    path: Path
    name: str


def test_the_tests_of_a_file_stay_together_whatever_the_seed() -> None:
    """They share what is expensive to make."""
    items = [Item(Path(file), str(number)) for file in "abc" for number in range(4)]
    orders = {tuple(shuffled(cast(list[pytest.Item], items), seed)) for seed in range(20)}
    assert len(orders) > 15
    for seed in range(20):
        order = cast(list[Item], shuffled(cast(list[pytest.Item], items), seed))
        assert sorted(order, key=str) == sorted(items, key=str)
        files = [item.path.name for item in order]
        assert sum(one != next_one for one, next_one in pairwise(files)) == 2
