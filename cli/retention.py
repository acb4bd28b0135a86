"""`skincare retention`: what is kept how long, and what of it would go."""

from cli.oncall import LOCAL, AsJson, OnCall, Stage
from cli.tables import age, print_json, print_table

_COUNTED = 10_000


def retention(*, stage: Stage = LOCAL, as_json: AsJson = False) -> None:
    """Print for each table how long its rows are kept, about how many there are, and how many have had their time."""
    from oncall.retention_requests import ShowRetention

    found = OnCall(stage).ask(ShowRetention())
    if as_json:
        print_json(found)
        return
    print_table(
        ["what", "kept", "rows", "oldest", "to go", "the oldest ended"],
        [
            [
                rule.what,
                "while needed" if rule.kept_days is None else f"{rule.kept_days} d",
                "" if rule.rows is None else f"about {rule.rows}",
                "" if rule.oldest is None else f"{age(rule.oldest)} ago",
                _due(rule.due),
                "" if rule.oldest_due is None else f"{age(rule.oldest_due)} ago",
            ]
            for rule in found.rules
        ],
    )


def _due(rows: int | None) -> str:
    if rows is None:
        return ""
    return f"{_COUNTED} or more" if rows >= _COUNTED else str(rows)
