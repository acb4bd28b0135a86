"""A function says what it lacks, and leaves its folders as they were."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from emulator.functions.function import FunctionDefinition, InvocationFailed
from emulator.functions.pool import FunctionPool
from tests.artefact.deployed import TIMEOUT, Deployed

FUNCTIONS = ["api", "mail-events", "migrator", "oncall", "outbox-relay", "worker-payments"]


def failure(deployed: Deployed, function: FunctionDefinition) -> InvocationFailed:
    """Return why a function gives no answer."""
    pool = FunctionPool(function, children=deployed.children, log=deployed.log, concurrency=1)
    try:
        with pytest.raises(InvocationFailed) as caught:
            pool.invoke(json.dumps({"Records": []}).encode(), timeout=TIMEOUT)
        return caught.value
    finally:
        pool.stop()


class TestAStart:
    @pytest.mark.parametrize("name", FUNCTIONS)
    def test_without_the_layer_names_what_cannot_be_imported(self, deployed: Deployed, name: str) -> None:
        function = deployed.definition(name)
        bare = f"{function.code}:{deployed.runtime}"
        error = failure(deployed, replace(function, environment={**function.environment, "PYTHONPATH": bare}))
        assert error.error_type == "Runtime.ImportModuleError"
        assert "No module named" in error.detail

    @pytest.mark.parametrize(
        ("name", "variable"),
        [
            ("migrator", "DATABASE_URL"),
            ("outbox-relay", "DATABASE_URL"),
            ("worker-notifications", "MAIL_FROM"),
            ("worker-documents", "WORKER_QUEUE"),
            ("worker-payments", "QUEUE_URL_DOCUMENTS"),
        ],
    )
    def test_without_a_setting_names_it(self, deployed: Deployed, name: str, variable: str) -> None:
        function = deployed.definition(name)
        settings = {key: value for key, value in function.environment.items() if key != variable}
        error = failure(deployed, replace(function, environment=settings))
        assert error.error_type == "ConfigurationError"
        assert variable in error.detail


class TestWhatWasDeployed:
    def test_is_all_that_runs(self, deployed: Deployed) -> None:
        """Neither this checkout nor this environment is on a function's path."""
        path = deployed.definition("api").environment["PYTHONPATH"].split(":")
        assert [Path(place).is_relative_to(deployed.templates.folder) for place in path] == [True, True, False]
        assert path[-1] == str(deployed.runtime)

    def test_is_not_written_to(self, whole_day: Deployed, as_synthesized: dict[str, int]) -> None:
        folder = whole_day.templates.folder
        assert {str(path): path.stat().st_mtime_ns for path in folder.rglob("*")} == as_synthesized
