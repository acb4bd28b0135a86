"""docs/retention.md has the policy's table."""

import re

import pytest

from skincare.retention.policy import BOOKS, RULES, Rule
from tests.architecture.tree import text_of, tracked_files

HEAD = "| what | kept | counted from when | why |\n|---|---|---|---|\n"


def row(rule: Rule) -> str:
    match rule.kept:
        case None:
            kept = "while needed"
        case _ if rule.kept == BOOKS:
            kept = "10 years"
        case days:
            kept = f"{days.days} days"
    return f"| `{rule.what}` | {kept} | {rule.since} | {rule.why} |"


@pytest.mark.parametrize(("source", "places"), [("UU 28/2007", 2), ("540", 3)])
def test_the_terms_of_others_stand_in_the_policy_and_on_the_page(source: str, places: int) -> None:
    """And in the function that the database obeys; a record of a decision says what was decided then."""
    found = {
        name
        for name in tracked_files()
        if name.startswith(("layers/", "functions/", "cli/", "infra/", "docs/"))
        and not name.startswith("docs/decisions/")
        and name.endswith((".py", ".sql", ".md"))
        and re.search(rf"\b{source}\b", text_of(name))
    }
    assert len(found) == places, found


def test_the_page_has_a_row_for_every_rule() -> None:
    table = text_of("docs/retention.md").partition(HEAD)[2].partition("\n\n")[0]
    assert table == "\n".join(row(rule) for rule in RULES), "write the rows of skincare/retention/policy.py"
