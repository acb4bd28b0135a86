"""Every request is known to the function, says what runs it, and costs the command line no driver."""

import subprocess
import sys

import pytest

from oncall.request import ChangeRequest, Query, Request
from oncall.requests import OPERATIONS, REQUESTS
from tests.architecture.tree import ROOT


def test_every_module_of_requests_is_collected() -> None:
    modules = {f"oncall.{path.stem}" for path in (ROOT / "functions/oncall").glob("*_requests.py")}
    assert len(modules) > 3
    assert {request.__module__ for request in REQUESTS} == modules


def test_no_two_have_one_name() -> None:
    assert len(OPERATIONS) == len(REQUESTS) > 25


@pytest.mark.parametrize("request_class", REQUESTS)
def test_each_says_what_runs_it(request_class: type[Request]) -> None:
    (kind,) = (each for each in (Query, ChangeRequest) if issubclass(request_class, each))
    assert request_class.run is not kind.run  # type: ignore[attr-defined]


def test_typing_a_command_loads_no_driver() -> None:
    script = "import sys, oncall.requests; sys.exit(bool({'psycopg', 'boto3'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
