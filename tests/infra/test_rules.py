"""The rules of cdk-nag find nothing, and nothing is acknowledged in vain. `make synth` asks the CDK's own rules too."""

import contextlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from constructs import IConstruct

from infra.node import use_our_node
from infra.stage import STAGES

type Findings = list[tuple[str, str]]


@pytest.fixture(scope="module")
def judge(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Findings]:
    """Return what gives the findings about a stage: the rule and the path of the construct."""
    use_our_node()
    from infra.app import make_app

    def findings(stage: str) -> Findings:
        folder = tmp_path_factory.mktemp("judged-")
        deployment = make_app(STAGES[stage], outdir=folder, code=False, validation=False)
        # Findings make it fail; what they are stands in the report.
        with contextlib.suppress(RuntimeError):
            deployment.app.synth()
        return list(_findings(folder))

    return findings


def _findings(folder: Path) -> Findings:
    report = json.loads((folder / "validation-report.json").read_text())
    return [
        (violation["ruleName"], construct["constructPath"])
        for plugin in report["pluginReports"]
        for violation in plugin["violations"]
        for construct in violation["violatingConstructs"]
    ]


class TestTheRules:
    @pytest.mark.parametrize("stage", STAGES)
    def test_find_nothing(self, judge: Callable[[str], Findings], stage: str) -> None:
        assert judge(stage) == []

    @pytest.mark.parametrize("stage", ["dev", "prod"])
    def test_find_everything_that_is_acknowledged(
        self, judge: Callable[[str], Findings], stage: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        given: list[tuple[str, str, str]] = []

        class Recorded:
            """Stands in the CDK's place: writes down what is acknowledged and acknowledges nothing."""

            def __init__(self, scope: IConstruct) -> None:
                self._path = scope.node.path

            def acknowledge(self, acknowledgment: Any) -> None:
                given.append((self._path, acknowledgment.id, acknowledgment.reason))

        monkeypatch.setattr("infra.acknowledgements._of", Recorded)
        found = judge(stage)
        assert len(given) > 20
        assert all(len(reason) > 20 for _, _, reason in given)
        needless = [
            (path, rule)
            for path, rule, _ in given
            if not any(rule == name and (place + "/").startswith(path + "/") for name, place in found)
        ]
        assert needless == []
