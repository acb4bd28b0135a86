"""A small evaluator of the policies of roles: those that allow, with resources as patterns, and nothing else."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.infra.templates import as_list

_MEMBERS = {"Action", "Effect", "Resource", "Sid"}


@dataclass(frozen=True, order=True)
class Grant:
    """An action that a role may do, and the pattern of what it may do it to."""

    action: str
    resource: str

    def covers(self, action: str, resource: str) -> bool:
        """Tell whether this allows an action (their case does not matter) on a resource (its case does)."""
        return _fits(self.action.lower(), action.lower()) and _fits(self.resource, resource)


def grants(statements: Sequence[Mapping[str, Any]]) -> Iterator[Grant]:
    """Yield what statements allow; fails at one that this evaluator does not understand."""
    for statement in statements:
        assert statement.keys() <= _MEMBERS, statement
        assert statement["Effect"] == "Allow", statement
        for action in as_list(statement["Action"]):
            for resource in as_list(statement["Resource"]):
                yield Grant(str(action), str(resource))


def _fits(pattern: str, text: str) -> bool:
    """Match as IAM does: `*` is any text and `?` any character."""
    parts = {"*": ".*", "?": "."}
    return re.fullmatch("".join(parts.get(each, re.escape(each)) for each in pattern), text, re.DOTALL) is not None
