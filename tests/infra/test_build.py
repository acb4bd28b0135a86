"""Two builds are the same to the byte, and what is built is what Lambda runs."""

import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from infra.node import use_our_node
from infra.stage import DEV
from tests.infra.templates import Resource, Templates

ELF_MACHINE = {"arm64": 183, "x86_64": 62}
UNCHECKED_HASH = 0b01


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Templates]:
    """Return what synthesizes dev with all its code, in a new folder each time."""
    use_our_node()
    from infra.app import make_app

    def make(architecture: str) -> Templates:
        folder = tmp_path_factory.mktemp("built-")
        make_app(
            DEV,
            outdir=folder,
            architecture="x86_64" if architecture == "x86_64" else "arm64",
            rules=False,
            validation=False,
        ).app.synth()
        return Templates(folder)

    return make


@pytest.fixture(scope="module")
def arm64(build: Callable[[str], Templates]) -> Templates:
    return build("arm64")


@pytest.fixture(scope="module")
def x86_64(build: Callable[[str], Templates]) -> Templates:
    return build("x86_64")


def layer_of(templates: Templates) -> Path:
    keys = {layer.properties["Content"]["S3Key"] for layer in templates.of("AWS::Lambda::LayerVersion")}
    (key,) = keys
    return templates.folder / f"asset.{key.removesuffix('.zip')}"


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


class TestASynthesis:
    def test_is_the_same_in_another_folder(self, build: Callable[[str], Templates], arm64: Templates) -> None:
        again = build("arm64")
        assert again.stacks == arm64.stacks
        assert {path.name for path in again.folder.glob("asset.*")} == {
            path.name for path in arm64.folder.glob("asset.*")
        }


class TestTheLayer:
    def test_holds_machine_code_of_its_architecture_only(self, arm64: Templates, x86_64: Templates) -> None:
        for templates, architecture in ((arm64, "arm64"), (x86_64, "x86_64")):
            libraries = [p for p in layer_of(templates).rglob("*") if p.is_file() and p.read_bytes()[:4] == b"\x7fELF"]
            assert libraries
            machines = {struct.unpack_from("<H", path.read_bytes(), 18)[0] for path in libraries}
            assert machines == {ELF_MACHINE[architecture]}

    def test_is_the_same_python_on_both_architectures(self, arm64: Templates, x86_64: Templates) -> None:
        ours, theirs = (
            {name: text for name, text in files_of(layer_of(each)).items() if name.endswith((".py", ".sql", ".pem"))}
            for each in (arm64, x86_64)
        )
        assert ours == theirs
        assert {
            "python/skincare/database/migrations/0101_roles.sql",
            "python/skincare/database/functions/place_order.sql",
        } <= set(ours)

    def test_has_bytecode_that_is_used_whatever_the_times_in_a_zip_file_say(self, arm64: Templates) -> None:
        for folder in (layer_of(arm64), _asset_of(arm64, "api")):
            bytecode = list(folder.rglob("*.pyc"))
            assert len(bytecode) == len(list(folder.rglob("*.py")))
            for path in bytecode:
                assert struct.unpack_from("<I", path.read_bytes(), 4)[0] == UNCHECKED_HASH

    def test_brings_no_sdk_which_the_runtime_has(self, arm64: Templates) -> None:
        packages = {path.name for path in (layer_of(arm64) / "python").iterdir()}
        assert {"skincare", "psycopg", "pydantic", "aws_lambda_powertools"} <= packages
        assert {"boto3", "botocore", "bin"} & packages == set()

    def test_brings_nothing_that_draws_documents(self, arm64: Templates) -> None:
        """It counts at the start of functions that draw none."""
        packages = {path.name for path in (layer_of(arm64) / "python").iterdir()}
        assert packages.isdisjoint({"reportlab", "PIL", "bidi", "arabic_reshaper"})

    def test_and_a_function_are_all_that_an_entry_point_imports(self, x86_64: Templates) -> None:
        """Run by an interpreter that sees neither this folder nor this environment."""
        for package in ("api", "worker", "outbox_relay", "migrator"):
            done = subprocess.run(
                [
                    getattr(sys, "_base_executable", sys.executable),
                    "-s",
                    "-B",
                    "-c",
                    f"import {package}.lambda_function as f; f.lambda_handler",
                ],
                cwd="/",
                env={"PYTHONPATH": f"{_asset_of(x86_64, package)}:{layer_of(x86_64) / 'python'}"},
                capture_output=True,
                text=True,
                timeout=60,
                check=False,
            )
            assert done.returncode == 0, done.stderr


class TestTheWorkerOfDocuments:
    def test_alone_has_what_draws_them_for_its_architecture(self, arm64: Templates, x86_64: Templates) -> None:
        for templates, architecture in ((arm64, "arm64"), (x86_64, "x86_64")):
            with_it = [
                function.properties["Environment"]["Variables"].get("WORKER_QUEUE")
                for function in templates.functions()
                if (_code_of(templates, function) / "reportlab").exists()
            ]
            assert with_it == ["documents"]
            libraries = list(_documents_of(templates).rglob("*.so*"))
            machines = {struct.unpack_from("<H", path.read_bytes(), 18)[0] for path in libraries}
            assert machines == {ELF_MACHINE[architecture]}

    def test_has_all_that_it_imports_and_draws_with_code_in_c(self, x86_64: Templates) -> None:
        code = (
            "import worker.lambda_function, skincare.invoices.pdf;"
            "from skincare.invoices.lettering import Typeface;"
            "from reportlab.lib.rl_accel import fp_str;"
            "assert type(fp_str).__name__ == 'builtin_function_or_method', fp_str;"
            "print(ascii(Typeface('DejaVuSans').lines('\u0645\u0631', 10, 99)))"
        )
        done = subprocess.run(
            [getattr(sys, "_base_executable", sys.executable), "-s", "-B", "-c", code],
            cwd="/",
            env={"PYTHONPATH": f"{_documents_of(x86_64)}:{layer_of(x86_64) / 'python'}"},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.strip() == r"['\ufeae\ufee3']"


def _documents_of(templates: Templates) -> Path:
    (found,) = [
        _code_of(templates, function)
        for function in templates.functions()
        if function.properties["Environment"]["Variables"].get("WORKER_QUEUE") == "documents"
    ]
    return found


def _code_of(templates: Templates, function: Resource) -> Path:
    return templates.asset(function.properties["Code"]["S3Key"])


def _asset_of(templates: Templates, package: str) -> Path:
    handler = f"{package}.lambda_function.lambda_handler"
    return next(_code_of(templates, f) for f in templates.functions() if f.properties["Handler"] == handler)
