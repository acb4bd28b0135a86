"""A threshold is changed in one place and a setting added in two: tried in one copy of the tree."""

import json
from pathlib import Path

import pytest

from tests.infra.templates import Templates
from tests.support.copied_tree import SYNTHESIZE, copied_tree, replace_once, run

SHARED = "layers/shared/python/skincare"
SHOWN = """
import json
from local.page.indicators import Observation, indicators
seen = Observation(
    dead_letters={},
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
# Where nothing gives it, the function would not start: the deployment says so.
GIVEN = SYNTHESIZE.replace(
    'STAGES["dev"]', 'replace(STAGES["dev"], settings={**STAGES["dev"].settings, "MAIL_GREETING": "Halo"})'
).replace("import sys", "import sys\nfrom dataclasses import replace", 1)
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


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the product with another threshold and one more setting of the worker of mails."""
    copy = copied_tree(tmp_path_factory.mktemp("tree-"))
    replace_once(copy / SHARED / "deployment/alarms.py", "    threshold=20,\n", "    threshold=33,\n")
    # The first place: which functions are given it. The second: how it is read.
    replace_once(
        copy / SHARED / "deployment/settings.py",
        "MAIL = (\n",
        'MAIL = (\n    Setting("MAIL_GREETING", "how mails begin", needed=True),\n',
    )
    config = copy / SHARED / "config.py"
    replace_once(config, "    shop_url: str\n", "    shop_url: str\n    mail_greeting: str | None\n")
    replace_once(
        config,
        "            shop_url=",
        '            mail_greeting=env.get("MAIL_GREETING") or None,\n            shop_url=',
    )
    return copy


@pytest.fixture(scope="module")
def changed(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> Templates:
    folder = tmp_path_factory.mktemp("cdk-")
    run(tree, GIVEN, str(folder))
    return Templates(folder)


def test_a_threshold_is_deployed_with_the_words_of_its_mail(changed: Templates) -> None:
    alarms = [each.properties for each in changed.of("AWS::CloudWatch::Alarm")]
    failed = [alarm for alarm in alarms if "-items-failed-" in alarm["AlarmName"]]
    assert {alarm["Threshold"] for alarm in failed} == {33}
    assert all("33 or more in 5 minutes" in alarm["AlarmDescription"] for alarm in failed)


def test_a_threshold_sets_the_indicator_of_the_local_page(tree: Path) -> None:
    assert json.loads(run(tree, SHOWN)) == [33, True]


def test_a_setting_is_given_to_the_function_that_needs_it_and_to_no_other(changed: Templates) -> None:
    given = {
        each.properties["FunctionName"]
        for each in changed.functions()
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
        run(tree, SYNTHESIZE, str(tmp_path))
