"""What a reconciliation finds."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from skincare.identifiers import OrderNumber
from skincare.jobs.catalog import GenerateInvoicePdf, SendPaymentReceivedEmail

OWED = {payload.job_type: payload for payload in (GenerateInvoicePdf, SendPaymentReceivedEmail)}
"""The jobs that a paid order has; releases before there were invoices left orders without them."""

LOOK_BACK = timedelta(days=35)
"""Longer than a pause with an end can last."""
PIECE = 5_000
"""Rows of one statement: some tens of milliseconds, where a statement may take five seconds."""
PIECE_OF_PRODUCTS = 100
"""Products of one statement, which reads all of their movements."""


@dataclass(frozen=True)
class Finding:
    """Something that a person must look at, since when, and what it is about."""

    kind: str
    subject: str
    order_number: str | None
    first_seen_at: datetime | None = None
    id: int | None = None


@dataclass(frozen=True)
class Place:
    """Behind which row a piece begins; rows are in the order of a time and their id."""

    at: datetime
    id: int


@dataclass(frozen=True)
class Owed:
    """A job that a paid order should have had, and that nobody cancelled."""

    job_type: str
    order_number: OrderNumber


@dataclass(frozen=True)
class Piece:
    """What one statement looked through. `ends_at` is None where nothing comes behind it."""

    findings: tuple[Finding, ...]
    owed: tuple[Owed, ...] = ()
    ends_at: Place | None = None


@dataclass(frozen=True)
class Run:
    """A reconciliation under way, and where it stands."""

    id: int
    step: int
    after: Place | None
