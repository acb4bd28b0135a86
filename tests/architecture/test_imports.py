"""Importing does nothing: no connection, no child process, no file written, no look at the environment."""

import json
import subprocess
import sys

import pytest

from tests.architecture.tree import LAMBDA_CODE, ROOT, python_modules

# Runs in a process of its own: an audit hook cannot be taken back. The environment is watched through a
# dictionary, because reading it raises no audit event; only reads by our own code count, because libraries
# have settings of their own.
PROBE = """
import importlib, json, os, sys

ours = tuple(json.loads(sys.argv[1]))
seen = []

def is_ours(frame):
    while frame and frame.f_code.co_filename in {"<frozen os>", "<frozen _collections_abc>"}:
        frame = frame.f_back
    return bool(frame) and frame.f_code.co_filename.startswith(ours)

class Watched(dict):
    def _note(self, name):
        if is_ours(sys._getframe(2)):
            seen.append(f"environment {name}")
    def __getitem__(self, name):
        self._note(name)
        return super().__getitem__(name)
    def get(self, name, default=None):
        self._note(name)
        return super().get(name, default)
    def __contains__(self, name):
        self._note(name)
        return super().__contains__(name)
    def __iter__(self):
        self._note("all of it")
        return super().__iter__()
    def items(self):
        self._note("all of it")
        return super().items()

forbidden = {"socket.connect", "socket.getaddrinfo", "socket.sendto", "subprocess.Popen", "os.fork", "os.system",
             "os.posix_spawn", "os.mkdir", "os.remove", "os.rename"}

def hook(event, arguments):
    if event in forbidden:
        seen.append(event)
    elif event == "open" and isinstance(arguments[1], str) and set(arguments[1]) & set("wax+"):
        seen.append(f"open {arguments[0]} for writing")

sys.dont_write_bytecode = True
os.environ = Watched(os.environ)
sys.addaudithook(hook)
importlib.import_module(sys.argv[2])
# Powertools itself looks into the package botocore for a version; what is dear lies in its modules.
sdk = {"boto3", "botocore.session", "botocore.exceptions"} & set(sys.modules)
print(json.dumps({"seen": seen, "sdk": sorted(sdk)}))
"""


def module_names() -> list[str]:
    names = []
    for path in python_modules(LAMBDA_CODE):
        for folder in LAMBDA_CODE:
            if path.startswith(folder):
                names.append(
                    path.removeprefix(folder).removesuffix("/__init__.py").removesuffix(".py").replace("/", ".")
                )
    return names


def probe(module: str, *, source: str = PROBE) -> dict[str, list[str]]:
    folders = [f"{ROOT}/{folder}" for folder in LAMBDA_CODE]
    done = subprocess.run(
        [sys.executable, "-c", source, json.dumps(folders), module],
        cwd=ROOT,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": ":".join(folders)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    answer: dict[str, list[str]] = json.loads(done.stdout)
    return answer


# Importing one of these imports nearly everything else.
ENTRY_POINTS = [name for name in module_names() if name.endswith(".lambda_function")]


class TestImporting:
    @pytest.mark.parametrize("module", ENTRY_POINTS)
    def test_an_entry_point_touches_nothing_and_leaves_the_aws_sdk_for_later(self, module: str) -> None:
        assert probe(module) == {"seen": [], "sdk": []}

    def test_no_module_touches_anything(self) -> None:
        everything = PROBE.replace(
            "importlib.import_module(sys.argv[2])", "[importlib.import_module(name) for name in sys.argv[2].split(',')]"
        )
        assert probe(",".join(module_names()), source=everything)["seen"] == []

    @pytest.mark.parametrize(
        ("statement", "noticed"),
        [
            ("import socket; socket.create_connection(('127.0.0.1', 9), timeout=1)", "socket.getaddrinfo"),
            ("import subprocess; subprocess.run(['true'])", "subprocess.Popen"),
            ("open('/dev/null', 'w').close()", "open /dev/null for writing"),
            ("import os; os.environ.get('HOME')", "environment HOME"),
            ("import os; os.getenv('HOME')", "environment HOME"),
            ("import os; 'HOME' in os.environ", "environment HOME"),
        ],
    )
    def test_the_probe_notices(self, statement: str, noticed: str) -> None:
        pretended = f"{ROOT}/{LAMBDA_CODE[0]}pretended.py"
        watched = PROBE.replace(
            "importlib.import_module(sys.argv[2])",
            f"try: exec(compile({statement!r}, {pretended!r}, 'exec'), {{}})\nexcept OSError: pass",
        )
        assert noticed in probe("", source=watched)["seen"]


class TestTheDeployment:
    @pytest.mark.parametrize(
        "module",
        [
            "skincare.payments.gateways",
            *sorted(
                f"skincare.deployment.{path.stem}"
                for path in (ROOT / "layers/shared/python/skincare/deployment").glob("[a-z]*.py")
            ),
        ],
    )
    def test_reads_tables_that_need_no_package(self, module: str) -> None:
        """Run without any installed package: an import of one would fail."""
        done = subprocess.run(
            [
                sys.executable,
                "-I",
                "-S",
                "-B",
                "-c",
                f"import sys; sys.path[:0] = sys.argv[1:]; import {module}",
            ]
            + [str(ROOT / folder) for folder in LAMBDA_CODE],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")
