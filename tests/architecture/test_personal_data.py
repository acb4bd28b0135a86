"""docs/personal-data.md says of each column what the code declares."""

import re

from skincare.customers.columns import PERSONAL
from tests.architecture.tree import text_of

DECLARED = [
    f"| `{table}.{column}` | {personal.effect} | {personal.why} |"
    for table, columns in PERSONAL.items()
    for column, personal in columns.items()
]


def test_the_table_of_the_document_is_that_of_the_code() -> None:
    rows = [row for row in text_of("docs/personal-data.md").splitlines() if re.match(r"\| `\w+\.\w+` \|", row)]
    assert rows == DECLARED


def test_each_kind_of_thing_that_is_waited_for_is_explained() -> None:
    sql = text_of("layers/shared/python/skincare/database/functions/customer_waits_for.sql")
    kinds = set(re.findall(r"SELECT '(\w+)', count", sql))
    rows = [row for row in text_of("docs/personal-data.md").splitlines() if row.startswith("| `")]
    explained = {kind for row in rows for kind in re.findall(r"`(\w+)`", row.split("|")[1])}
    assert len(kinds) > 5
    assert kinds <= explained
