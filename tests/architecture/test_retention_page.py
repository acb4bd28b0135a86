"""docs/retention.md has the policy's table."""

from skincare.retention.policy import BOOKS, RULES, Rule
from tests.architecture.tree import text_of

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


def test_the_page_has_a_row_for_every_rule() -> None:
    table = text_of("docs/retention.md").partition(HEAD)[2].partition("\n\n")[0]
    assert table == "\n".join(row(rule) for rule in RULES), "write the rows of skincare/retention/policy.py"
