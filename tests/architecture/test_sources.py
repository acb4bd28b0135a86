"""Rules about source files that no linter knows."""

import ast
import re
from collections.abc import Iterator

from tests.architecture.tree import LAMBDA_CODE, python_modules, text_of, tracked_files

SETTINGS_MODULE = "layers/shared/python/skincare/config.py"
NAMED_FOR_NOTHING = re.compile(r"utils?|common|helpers?|misc|managers?|base")
LONGEST_MODULE = 300

# Folders of one machine: a home, or a place that only its owner has.
MACHINE_PATH = re.compile(r"(?<![\w.\-/])/(?:work|farm|home/\w+|Users/\w+|root)/")

# What names a registry in a requirement file or a lock file.
ADDRESS = re.compile(r"\w+://|--(?:extra-)?index-url|--find-links|--trusted-host|\s@\s")


def environment_reads(source: str) -> Iterator[int]:
    """Yield the lines that reach for the process environment through `os`."""
    names = {"environ", "environb", "getenv", "getenvb", "putenv", "unsetenv"}
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Attribute(value=ast.Name(id="os"), attr=attribute) if attribute in names:
                yield node.lineno
            case ast.ImportFrom(module="os", names=imported) if names & {alias.name for alias in imported}:
                yield node.lineno


class TestSources:
    def test_only_the_settings_module_reads_the_environment(self) -> None:
        modules = [name for name in python_modules(LAMBDA_CODE) if name != SETTINGS_MODULE]
        assert modules
        assert [f"{name}:{line}" for name in modules for line in environment_reads(text_of(name))] == []

    def test_the_settings_module_is_where_the_environment_is_read(self) -> None:
        assert list(environment_reads(text_of(SETTINGS_MODULE)))

    def test_nothing_is_named_for_nothing(self) -> None:
        parts = [(name, part) for name in tracked_files() for part in name.split("/")]
        assert [name for name, part in parts if NAMED_FOR_NOTHING.fullmatch(part.partition(".")[0])] == []

    def test_a_module_stays_within_its_length(self) -> None:
        lengths = {name: text_of(name).count("\n") for name in python_modules()}
        assert {name: lines for name, lines in lengths.items() if lines >= LONGEST_MODULE} == {}

    def test_the_gate_runs_tests_that_are_there(self) -> None:
        named = set(re.findall(r"tests/\S+\.py", text_of(".ci/run")))
        assert named
        assert named - set(tracked_files()) == set()

    def test_no_file_names_a_folder_of_one_machine(self) -> None:
        hits = [f"{name}: {match[0]}" for name in tracked_files() for match in MACHINE_PATH.finditer(text_of(name))]
        assert hits == []


class TestRequirementFiles:
    def test_they_name_no_address(self) -> None:
        files = [name for name in tracked_files() if re.search(r"requirements.*\.(?:txt|in)$", name)]
        assert len(files) >= 8
        hits = [f"{name}: {match[0]}" for name in files for match in ADDRESS.finditer(text_of(name))]
        assert hits == []

    def test_every_pinned_package_has_a_hash(self) -> None:
        files = [name for name in tracked_files() if re.search(r"requirements.*\.txt$", name)]
        for name in files:
            entries = re.split(r"\n(?=\S)", text_of(name).strip())
            assert [entry for entry in entries if "==" not in entry or "--hash=sha256:" not in entry] == []

    def test_the_local_system_and_the_tests_run_the_versions_that_the_layer_ships(self) -> None:
        layer = pins("layers/shared/requirements.txt")
        documents = pins("requirements/documents.txt")
        local = pins("requirements/local.txt")
        dev = pins("requirements/dev.txt")
        assert layer.items() <= local.items()
        assert documents.items() <= local.items()
        assert local.items() <= dev.items()


def pins(name: str) -> dict[str, str]:
    """Return package name to version."""
    return dict(re.findall(r"^([\w.\-]+(?:\[[\w,\-]+\])?)==(\S+)", text_of(name), flags=re.MULTILINE))
