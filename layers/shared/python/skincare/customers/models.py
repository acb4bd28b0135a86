"""What the on-call engineer sees of customers' requests: identifiers and numbers, never what a customer typed."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

MOST_ACCOUNTS = 20
"""Accounts of one request."""


class RequestKind(StrEnum):
    """What a customer asks for. The value is stored: never renamed."""

    EXPORT = "export"
    ERASE = "erase"


@dataclass(frozen=True)
class Account:
    """One account at the sign-in pool, as far as the shop has something of it.

    `addresses` is how many mail addresses it ordered with. `waits_for` says what is not over yet, counted by kind: an
    erasure waits for it.
    """

    user_id: str
    orders: int
    addresses: int
    newest_order_at: datetime | None
    has_cart: bool
    waits_for: Mapping[str, int]


@dataclass(frozen=True)
class CustomerRequest:
    """A request about one account, which is named only until the request is done.

    `has_file` says that an export's file can be fetched.
    """

    id: int
    kind: str
    user_id: str | None
    created_at: datetime
    finished_at: datetime | None
    looks: int
    waits_for: Mapping[str, int]
    has_file: bool


@dataclass(frozen=True)
class CustomerRequests:
    """The unfinished requests, and the newest of the others."""

    requests: tuple[CustomerRequest, ...]


@dataclass(frozen=True)
class Accounts:
    """The accounts that an address or a name leads to."""

    accounts: tuple[Account, ...]
    more: bool = False


@dataclass(frozen=True)
class ExportLink:
    """Where an export's file can be fetched for a few minutes."""

    request_id: int
    link: str = field(repr=False)


class Outcome(StrEnum):
    """What one step of an erasure came to, as `erase_customer` answers it."""

    MORE = "more"
    ERASED = "erased"
    WAITS = "waits"
    SUPERSEDED = "superseded"


@dataclass(frozen=True)
class Step:
    """One step of an erasure."""

    outcome: Outcome
    orders_erased: int
    waits_for: Mapping[str, int]
