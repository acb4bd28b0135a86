"""A job type has three places and a test: forgetting one of them fails here and not in production."""

import re
from pathlib import Path

import pytest

from skincare.jobs.catalog import PAYLOADS, JobPayload, RunAgain
from tests.architecture.tree import text_of, tracked_files
from worker.registry import REGISTRY

HANDLERS = "functions/worker/handlers/"


@pytest.mark.parametrize("payload_class", PAYLOADS, ids=lambda payload_class: payload_class.job_type)
class TestAJobType:
    def test_has_a_handler_file_of_its_name(self, payload_class: type[JobPayload]) -> None:
        assert f"{HANDLERS}{payload_class.job_type}.py" in tracked_files()

    def test_has_a_line_in_the_registry_that_leads_to_that_file(self, payload_class: type[JobPayload]) -> None:
        registration = REGISTRY.find(payload_class.job_type)
        assert registration is not None
        assert registration.payload_class is payload_class
        assert registration.handler.__module__ == f"worker.handlers.{payload_class.job_type}"

    def test_has_a_test_of_its_handler(self, payload_class: type[JobPayload]) -> None:
        handler = re.compile(rf"worker\.handlers(?:\.| import (?:.*\b)?){payload_class.job_type}\b")
        tests = [name for name in tracked_files() if re.fullmatch(r"tests/(?!architecture/).*\.py", name)]
        assert [name for name in tests if handler.search(text_of(name))] != []

    def test_says_for_itself_whether_it_may_run_again_and_why(self, payload_class: type[JobPayload]) -> None:
        said = vars(payload_class).get("run_again")
        assert isinstance(said, RunAgain)
        assert said.why

    def test_name_is_a_plain_identifier(self, payload_class: type[JobPayload]) -> None:
        assert re.fullmatch(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*", payload_class.job_type)


class TestTheCatalog:
    def test_gives_every_type_its_own_name(self) -> None:
        names = [payload_class.job_type for payload_class in PAYLOADS]
        assert len(set(names)) == len(names) > 0

    def test_knows_every_handler_file(self) -> None:
        files = [Path(name) for name in tracked_files() if name.startswith(HANDLERS) and name.endswith(".py")]
        handlers = {file.stem for file in files if file.stem != "__init__"}
        assert handlers == {payload_class.job_type for payload_class in PAYLOADS}

    def test_knows_every_line_of_the_registry(self) -> None:
        registered = {registration.payload_class for registration in REGISTRY}
        assert registered == set(PAYLOADS)
