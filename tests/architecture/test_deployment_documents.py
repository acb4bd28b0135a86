"""Documents that tell what a table or a contract decides are held against it."""

import re
import tomllib
from typing import Any

import pytest

from infra.settings_page import page
from skincare.deployment.log_events import COUNTED_EVENTS
from skincare.deployment.metrics import Metric
from tests.architecture.tree import ROOT

CONTRACTS: list[dict[str, Any]] = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"][
    "contracts"
]


def test_the_page_of_settings_is_what_the_functions_are_given() -> None:
    written = (ROOT / "docs/settings.md").read_text()
    assert written == page(), "docs/settings.md is stale: run `make settings`"


def test_the_page_of_metrics_names_them_all() -> None:
    text = (ROOT / "docs/metrics.md").read_text()
    assert [metric for metric in Metric if f"`{metric}`" not in text] == []
    assert [each for each in COUNTED_EVENTS if f"| `{each.metric}` | `{each.event}` |" not in text] == []


def contract(name: str) -> dict[str, Any]:
    (found,) = [each for each in CONTRACTS if each["id"] == name]
    return found


def layers_of(name: str) -> list[list[str]]:
    """Return the layers of a contract from the highest to the lowest; the modules of a layer are sorted."""
    return [sorted(re.findall(r"\w+", layer)) for layer in contract(name)["layers"]]


def printed_layers(heading: str) -> list[list[str]]:
    """Return the layers that docs/architecture.md prints below a line, which are indented."""
    text = (ROOT / "docs/architecture.md").read_text()
    (lines,) = re.findall(rf"^{heading}\b.*\n((?:    .*\n)+)", text, flags=re.MULTILINE)
    return [sorted(re.findall(r"\w+", re.split(r"\s{3,}", line.strip())[0])) for line in lines.splitlines()]


class TestTheLayersOfTheArchitecture:
    @pytest.mark.parametrize(("heading", "name"), [("skincare:", "skincare"), ("emulator", "emulator-layers")])
    def test_are_those_of_the_contracts(self, heading: str, name: str) -> None:
        assert printed_layers(heading.removesuffix(":")) == layers_of(name)

    def test_of_functions_are_those_of_the_contract(self) -> None:
        text = (ROOT / "docs/architecture.md").read_text()
        block = text.partition("```\ncli")[2].partition("```")[0]
        top = [line for line in ("cli" + block).splitlines() if not line.startswith(" ")]
        printed = [sorted(re.findall(r"\w+", re.split(r"\s{3,}", line)[0])) for line in top]
        assert [layer for layer in printed if layer != ["emulator"]] == layers_of("functions")

    def test_say_what_the_deployment_may_read(self) -> None:
        allowed = contract("deployment")["ignore_imports"]
        assert allowed == ["infra.** -> skincare.deployment.**", "infra.** -> skincare.payments.gateways"]
        text = " ".join((ROOT / "docs/architecture.md").read_text().split())
        assert "`infra` reads `skincare.deployment`, the list of gateways in `skincare.payments.gateways`, and" in text
