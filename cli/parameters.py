"""Parameters that are more than text, and what is said where somebody typed none."""

from collections.abc import Callable
from functools import wraps

import typer


def parsed_by[T](read: Callable[[str], T]) -> Callable[[str], T]:
    """Return `read` as a parser of typer: the sentence of its `ValueError` is the whole error message."""

    @wraps(read)
    def parser(text: str) -> T:
        try:
            return read(text)
        except ValueError as error:
            raise typer.BadParameter(str(error)) from None

    return parser
