"""The languages that customers are written to in."""

from enum import StrEnum


class Locale(StrEnum):
    """A customer's language; the value is what the database stores and what HTML calls `lang`."""

    ID = "id"
    EN = "en"
