"""Which tests run in one process of xdist: those of a file, and of files that share something dear.

The groups come first, for a long one that begins last would keep a single core at work. xdist has marks for groups,
which the name of a test must carry to its scheduler: pytest 9.2 forgets them without a word.
"""

from collections.abc import Sequence
from pathlib import Path

import pytest
from xdist.scheduler import LoadScopeScheduling

GROUPS = {
    "tests/journey/test_game_day.py": "game day",
    "tests/journey/test_page.py": "page",
    "tests/journey/test_payment.py": "page",
    "tests/infra/": "infra",
    "tests/journey/test_page_operations.py": "page operations",
    "tests/artefact/": "artefact",
    "tests/journey/test_make_run.py": "make run",
}
"""By the beginning of a test's name, in the order in which they begin."""


def group_of(nodeid: str) -> str:
    """Return the group of a test, which is its file where no other is named."""
    named = (group for beginning, group in GROUPS.items() if nodeid.startswith(beginning))
    return next(named, nodeid.partition("::")[0])


def in_order(items: Sequence[pytest.Item]) -> list[pytest.Item]:
    """Return the tests with those of groups first."""
    ranks = {group: rank for rank, group in enumerate(dict.fromkeys(GROUPS.values()))}
    return sorted(items, key=lambda item: ranks.get(group_of(item.nodeid), len(ranks)))


class Scheduler(LoadScopeScheduling):  # type: ignore[misc]  # xdist has no types
    """Gives a group to one process."""

    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid)


def claim(item: pytest.Item, folder: Path, process: str) -> None:
    """Fail where the group of a test runs in two processes; `folder` is what the processes of a run share."""
    owner = folder / f"runs {group_of(item.nodeid).replace('/', '.')}"
    try:
        with owner.open("x") as file:
            file.write(process)
    except FileExistsError:
        assert owner.read_text() == process, f"{item.nodeid} runs in {process}, and others of its group elsewhere"
