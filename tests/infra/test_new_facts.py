"""A threshold is changed in one place and a setting added in two: tried in a copy of the tree."""

import json
from pathlib import Path

import pytest

from tests.infra.additions import SYNTHESIZE
from tests.infra.templates import Templates
from tests.support.copied_tree import run

SHOWN = """
import json
from local.page.indicators import Observation, indicators
seen = Observation(
    dead_letters={},
    unacknowledged={},
    oldest_s={},
    failed_items={"documents": 33},
    sending_stopped=0,
    webhooks_refused=0,
    server_errors=0,
    slowest_ms=0,
    gauges={},
)
(indicator,) = [indicator for indicator in indicators(seen) if indicator.name == "items-failed-documents"]
print(json.dumps([indicator.threshold, indicator.firing]))
"""
MISSED = """
from skincare.config import Settings
from skincare.deployment.functions import FUNCTIONS
from skincare.errors import ConfigurationError
for function in FUNCTIONS:
    given = {name: "x" for name in function.needs if name != "MAIL_GREETING"}
    try:
        Settings.from_env(given, needs=function.needs)
    except ConfigurationError as error:
        print(function.name, error)
print(Settings.from_env({"DATABASE_URL": "x", "MAIL_GREETING": "Halo"}).mail_greeting)
"""


def test_a_threshold_is_deployed_with_the_words_of_its_mail(grown: Templates) -> None:
    alarms = [each.properties for each in grown.of("AWS::CloudWatch::Alarm")]
    failed = [alarm for alarm in alarms if "-items-failed-" in alarm["AlarmName"]]
    assert {alarm["Threshold"] for alarm in failed} == {33}
    assert all("33 or more in 5 minutes" in alarm["AlarmDescription"] for alarm in failed)


def test_a_threshold_sets_the_indicator_of_the_local_page(tree: Path) -> None:
    assert json.loads(run(tree, SHOWN)) == [33, True]


def test_a_setting_is_given_to_the_function_that_needs_it_and_to_no_other(grown: Templates) -> None:
    given = {
        each.properties["FunctionName"]
        for each in grown.functions()
        if "MAIL_GREETING" in each.properties["Environment"]["Variables"]
    }
    assert given == {"skincare-dev-worker-notifications"}


def test_a_setting_that_is_missing_is_named_when_its_function_starts(tree: Path) -> None:
    assert run(tree, MISSED).splitlines() == [
        "worker-notifications the environment variable MAIL_GREETING is not set",
        "Halo",
    ]


def test_a_stage_that_does_not_give_it_is_refused(tree: Path, tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="worker-notifications would not start: nothing gives it MAIL_GREETING"):
        run(tree, SYNTHESIZE, str(tmp_path), "{}")
