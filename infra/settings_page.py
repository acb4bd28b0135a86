"""Writes docs/settings.md, which is made of the tables in `skincare.deployment`: `python -m infra.settings_page`."""

import sys
from collections.abc import Iterator

from skincare.deployment.functions import FUNCTIONS
from skincare.deployment.settings import Setting

_HEAD = """\
# Settings of each function

`make settings` writes this page from
[`skincare/deployment`](../layers/shared/python/skincare/deployment/functions.py): that table decides which
environment variables a function is given, on AWS and by the local system. A function that lacks a **needed** one
names it when it starts. Values that differ by stage stand in `infra/stage.py`; `make synth` refuses one that is named
there and belongs to no function.

`*` stands for the name of a payment gateway. Credentials and the region of AWS come from Lambda itself.
"""


def page() -> str:
    """Return the whole page."""
    return "\n".join([_HEAD, *_functions(), "", *_settings(), ""])


def _functions() -> Iterator[str]:
    yield "| function | called by | seconds | MB |"
    yield "|---|---|---|---|"
    for function in FUNCTIONS:
        seconds = int(function.timeout.total_seconds())
        yield f"| `{function.name}` | {function.trigger} | {seconds} | {function.memory_mb} |"


def _settings() -> Iterator[str]:
    given: dict[Setting, list[str]] = {}
    for function in FUNCTIONS:
        for setting in function.all_settings:
            given.setdefault(setting, []).append(f"`{function.name}`")
    yield "| setting | needed | meaning | given to |"
    yield "|---|---|---|---|"
    for setting, names in given.items():
        to = "all" if len(names) == len(FUNCTIONS) else ", ".join(names)
        yield f"| `{setting.name}` | {'yes' if setting.needed else ''} | {setting.meaning} | {to} |"


if __name__ == "__main__":
    sys.stdout.write(page())
