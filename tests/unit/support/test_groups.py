"""Tests that share something dear run in one process."""

from pathlib import Path

import pytest

from tests.architecture.tree import ROOT
from tests.support.groups import GROUPS, claim, group_of


@pytest.mark.parametrize("beginning", GROUPS)
def test_a_group_is_of_tests_that_there_are(beginning: str) -> None:
    assert (ROOT / beginning).exists()


def test_what_is_in_no_group_runs_with_its_file() -> None:
    assert group_of("tests/unit/test_bootstrap.py::TestA::test_b[tests/infra/]") == "tests/unit/test_bootstrap.py"
    assert group_of("tests/infra/test_rules.py::test_a") == group_of("tests/infra/test_build.py::test_b") == "infra"


def test_a_group_in_two_processes_is_noticed(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    for _ in range(2):
        claim(request.node, tmp_path, "one")
    with pytest.raises(AssertionError, match="runs in another, and others of its group elsewhere"):
        claim(request.node, tmp_path, "another")
