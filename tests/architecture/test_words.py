"""Code uses the words of the trade, as documents do: the glossary has them."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator

import pytest

from tests.architecture.test_facts_in_documents import OUTWORN
from tests.architecture.tree import python_modules, text_of

OUTWORN_PART = re.compile(
    r"bur(y|ied)|chores?|dearest|deaths?|happenings?|hurried|lamps?|lender|lent|lit|mend(ed)?|patience|shelf"
    r"|surroundings|told|troubled|unseen|wish(es)?"
)
"""Of a name, split at underscores and capitals. Fields of JSON that clients know may keep theirs."""


def defined_names(source: str) -> Iterator[str]:
    """Yield what a module names: functions, classes, arguments and variables, but no fields of a class."""
    tree = ast.parse(source)
    classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    fields = {id(field.target) for each in classes for field in each.body if isinstance(field, ast.AnnAssign)}
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.arg(arg=name) | ast.alias(asname=str(name)):
                yield name
            case ast.Name(id=name, ctx=ast.Store()) if id(node) not in fields:
                yield name
            case ast.Attribute(attr=name, ctx=ast.Store()):
                yield name


def outworn_names(source: str) -> set[str]:
    """Return the names of a module in which an outworn word is a part."""
    parts = {name: re.findall(r"[A-Z]?[a-z]+|[A-Z]+", name) for name in defined_names(source)}
    return {name for name in parts if any(OUTWORN_PART.fullmatch(part.lower()) for part in parts[name])}


def outworn_prose(source: str) -> list[str]:
    """Return the outworn words in a module's comments and docstrings, without code in backticks."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    prose = [token.string for token in tokens if token.type == tokenize.COMMENT or token.string.startswith('"""')]
    return [found for text in prose for found in OUTWORN.findall(re.sub(r"`[^`]*`", "", text))]


class TestAModule:
    @pytest.mark.parametrize(
        ("source", "found"),
        [
            ("def bury(job): ...", {"bury"}),
            ("class Surroundings: ...", {"Surroundings"}),
            ("def wait(*, patience): ...", {"patience"}),
            ("_TOLD_WHILE = 1\nself._lamp = 2", {"_TOLD_WHILE", "_lamp"}),
            ("class Row:\n    told: str\ndef split(literal): ...", set()),
        ],
    )
    def test_that_names_something_by_an_outworn_word_is_found(self, source: str, found: set[str]) -> None:
        assert outworn_names(source) == found

    def test_names_things_by_words_of_the_trade(self) -> None:
        found = {module: outworn_names(text_of(module)) for module in python_modules()}
        assert {module: names for module, names in found.items() if names} == {}

    def test_is_named_by_words_of_the_trade(self) -> None:
        parts = {module: re.split(r"[/_.]", module) for module in python_modules()}
        assert [module for module in parts if any(map(OUTWORN_PART.fullmatch, parts[module]))] == []

    def test_explains_itself_in_words_of_the_trade(self) -> None:
        assert outworn_prose('x = 1  # the lamp is `lit`\n"""Mend it."""') == ["lamp", "Mend"]
        found = {module: outworn_prose(text_of(module)) for module in python_modules()}
        assert {module: words for module, words in found.items() if words} == {}
