"""Chance that can be had again: one seed for all that is drawn, and long forms of the tests that draw.

`SEED=7 make test` (or `--seed=7`) draws as a run did that printed 7, and takes the tests in that run's order;
`SEED=random` draws a seed. Without one it is always the same seed, in the order of the files: the gate says the same
of the same code. `make test-long` draws a seed of its own and runs only what has a long form, at its full length.
"""

import os
import random
import secrets
from collections.abc import Sequence
from itertools import groupby
from typing import Protocol

import pytest
from hypothesis import settings

USUAL = 20260115
LONGER = 10
"""How many times the examples of a short run a long one has, where a test names their number: minutes, not hours."""


class Times(Protocol):
    """Gives how often a test does what it does at random."""

    def __call__(self, *, short: int, long: int) -> int: ...


def add_options(parser: pytest.Parser) -> None:
    parser.addoption("--seed", default=os.environ.get("SEED") or None, help="a number, or random (also: SEED=…)")
    parser.addoption("--long", action="store_true", help="only the tests that have a long form, at their full length")


def settle(config: pytest.Config) -> None:
    """Decide on seed and length before Hypothesis asks; a process of xdist does as the one that started it."""
    options = config.option
    options.shuffled = options.seed is not None or options.long
    options.seed = getattr(config, "workerinput", {}).get("seed", options.seed)
    if options.seed == "random" or (options.long and options.seed is None):
        options.seed = secrets.randbelow(1_000_000)
    try:
        options.seed = USUAL if options.seed is None else int(options.seed)
    except ValueError:
        raise pytest.UsageError(f"--seed={options.seed} is neither a number nor 'random'") from None
    # Hypothesis fails an example that takes 0.2 s: on a busy machine any does.
    settings.register_profile("short", deadline=None)
    settings.register_profile("long", deadline=None, max_examples=1000)
    settings.load_profile("long" if options.long else "short")
    if options.hypothesis_seed is None:
        options.hypothesis_seed = str(options.seed)


def examples(short: int) -> int:
    """Return how many examples a test of Hypothesis's takes that is too dear for the usual hundred."""
    return short * LONGER if settings.get_current_profile_name() == "long" else short


def hand_on(config: pytest.Config, workerinput: dict[str, object]) -> None:
    """Give a process of xdist the seed, which it would otherwise draw for itself."""
    workerinput["seed"] = config.option.seed


def header(config: pytest.Config) -> str:
    order = "order of the tests, too" if config.option.shuffled else "files in their order"
    return f"seed: {config.option.seed} ({order}); the same again: SEED={config.option.seed}"


def choose(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what has no long form in a long run, and put the rest into the seed's order."""
    if config.option.long:
        config.hook.pytest_deselected(items=[item for item in items if not has_long_form(item)])
        items[:] = [item for item in items if has_long_form(item)]
    if config.option.shuffled:
        items[:] = shuffled(items, config.option.seed)


def shuffled(items: Sequence[pytest.Item], seed: int) -> list[pytest.Item]:
    """Return the tests in an order of the seed's: the files, and the tests in each, which share fixtures."""
    chance = random.Random(seed)
    files = [list(group) for _, group in groupby(items, key=lambda item: item.path)]
    chance.shuffle(files)
    for file in files:
        chance.shuffle(file)
    return [item for file in files for item in file]


def has_long_form(item: pytest.Item) -> bool:
    """Tell whether a test draws: it asks how often to try, or it is one of Hypothesis's."""
    draws = getattr(getattr(item, "obj", None), "is_hypothesis_test", False)
    return draws or "times" in getattr(item, "fixturenames", ())


@pytest.fixture
def random_seed(pytestconfig: pytest.Config) -> int:
    """What a test's own chance starts from."""
    return int(pytestconfig.option.seed)


@pytest.fixture
def times(pytestconfig: pytest.Config) -> Times:
    """How often a test tries at random: a few times in every run, many times in `make test-long`."""

    def how_often(*, short: int, long: int) -> int:
        return long if pytestconfig.option.long else short

    return how_often
