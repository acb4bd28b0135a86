"""Stock as a ledger: a product's numbers are the sums of its movements."""

from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum

from skincare.identifiers import Sku


class Reason(StrEnum):
    """Why stock moved. Orders move only what is reserved; what is shipped leaves shelf and reservation."""

    RECEIVED = "received"
    SOLD = "sold"
    GIVEN_BACK = "given_back"
    COUNTED = "counted"
    DAMAGED = "damaged"
    RETURNED = "returned"
    SHIPPED = "shipped"
    CORRECTION = "correction"


@dataclass(frozen=True)
class Stock:
    """One product's units: `available` = `on_hand` - `reserved`, all whole and never negative.

    `version` rises with each change of `available`: of two numbers the one with the higher version is the newer.
    """

    sku: Sku
    available: int
    on_hand: int
    reserved: int
    version: int


@dataclass(frozen=True)
class Movement:
    """One change, in units; `order_number` says whose units they are."""

    id: int
    at: datetime
    reason: Reason
    on_hand: int
    reserved: int
    order_number: str | None
    reference: str | None
    lot: str | None
    expires_on: date | None
    moved_by: str
    key: str | None


@dataclass(frozen=True)
class MovementPage:
    """Part of a product's movements, newest first."""

    movements: tuple[Movement, ...]
    more: bool


@dataclass(frozen=True, kw_only=True)
class Move:
    """What is to move, in units. Who says the same `key` again says it once."""

    sku: Sku
    on_hand: int = 0
    reserved: int = 0
    reason: Reason
    key: str
    moved_by: str
    reference: str | None = None


@dataclass(frozen=True)
class Moved:
    """The product's stock afterwards; `replayed` where an earlier call with this key had done it."""

    stock: Stock
    replayed: bool
