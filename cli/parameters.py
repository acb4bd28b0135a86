"""Parameters that are more than text, and what is said where somebody typed none.

All of them are looked at before the system is asked anything: what was typed wrongly is so in any state of it.
"""

import re
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from skincare.identifiers import read_order_number

_CHOICES = re.compile(r"is not one of (?P<choices>.+?)\.?$")


def parsed_by[T](read: Callable[[str], T]) -> Callable[[str], T]:
    """Return `read` as a parser of typer: the sentence of its `ValueError` is the whole error message."""

    @wraps(read)
    def parser(text: str) -> T:
        try:
            return read(text)
        except ValueError as error:
            raise typer.BadParameter(str(error)) from None

    return parser


def as_field(name: str) -> Callable[[Any], Any]:
    """Return a callback of typer that reads what was typed as a type of `oncall.request`, such as `Reason`."""

    def callback(value: Any) -> Any:
        from pydantic import TypeAdapter, ValidationError

        from oncall import request

        if value is None:
            return None
        try:
            return TypeAdapter(getattr(request, name)).validate_python(value)
        except ValidationError as error:
            raise typer.BadParameter(_rule(error)) from None

    return callback


def why(sentence: str = "Why; it is written down.", *, field: str = "Reason") -> Any:
    """Return the option `--reason`."""
    return typer.Option("--reason", help=sentence, callback=as_field(field))


OrderArgument = Annotated[
    str,
    typer.Argument(
        metavar="ORDER", parser=parsed_by(read_order_number), help="The order's number, as heard or written."
    ),
]
Reason = Annotated[str, why()]
OptionalReason = Annotated[str | None, why()]


class PlainGroup(TyperGroup):
    """Commands that say what was typed wrongly in our own words: pydantic's name its types."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        from pydantic import ValidationError

        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            if isinstance(error.__cause__, ValidationError):
                error.message = _rule(error.__cause__)
            raise


def _rule(error: Any) -> str:
    from oncall.refusals import broken_rules

    rule = next(iter(broken_rules(error).values()))
    found = _CHOICES.search(rule)
    return f"must be one of {found['choices'].replace("'", '')}" if found else rule
