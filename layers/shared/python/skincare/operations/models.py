"""What the on-call engineer sees: identifiers, numbers and our own words, never what a customer typed.

These classes are also the answers of the function `oncall`; a field is added, never renamed.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from skincare.jobs.models import Acknowledgement, JobRow, QuarantinedMessage


@dataclass(frozen=True)
class Caller:
    """Who asks: what the caller says it is, and the invocation under which CloudTrail has the proof."""

    claimed_identity: str
    invocation_id: str


@dataclass(frozen=True)
class JobAttempt:
    """One attempt of a job that ended."""

    started_at: datetime
    finished_at: datetime
    outcome: str
    error_class: str | None
    error_message: str | None
    release: str | None


@dataclass(frozen=True)
class TimelineEntry:
    """One thing that happened to an order, in words and identifiers of ours."""

    at: datetime
    what: str
    detail: str


@dataclass(frozen=True)
class OrderTimeline:
    """What happened to an order, oldest first, without a word about who ordered."""

    order_number: str
    status: str
    total_rupiah: int
    happenings: tuple[TimelineEntry, ...]


@dataclass(frozen=True)
class JobTimeline:
    """A job with its payload, its attempts and what happened to its order."""

    job: JobRow
    payload: Mapping[str, Any]
    release: str | None
    safe: bool
    why: str
    past_use: str | None
    attempts: tuple[JobAttempt, ...]
    order: OrderTimeline | None
    pauses: tuple[str, ...] = ()
    """Which pauses hold it and why, while it waits."""
    acknowledgement: Acknowledgement | None = None


@dataclass(frozen=True)
class Jobs:
    """Jobs as the ledger has them."""

    jobs: tuple[JobRow, ...]


@dataclass(frozen=True)
class JobPage:
    """Jobs in the order of their ids; the next page begins after the last one. `more` may be wrong once."""

    jobs: tuple[JobRow, ...]
    more: bool


@dataclass(frozen=True)
class IdMatch:
    """The ids that begin so: the first ten, and whether there are more."""

    beginning: str
    ids: tuple[str, ...]
    more: bool


@dataclass(frozen=True)
class IdMatches:
    """What was found for each beginning that was asked for, in their order."""

    matches: tuple[IdMatch, ...]


@dataclass(frozen=True)
class Change:
    """How many things a change changed, which jobs these are, and `counts` by outcome, also of what it left alone."""

    changed: int
    job_ids: tuple[str, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class WithheldMail:
    """A mail about an order that was not delivered, by what it tells."""

    order_number: str
    mail: str


@dataclass(frozen=True)
class SuppressedRow:
    """An address that gets no mail, by its number: the address itself is in no answer."""

    id: int
    reason: str
    since: datetime
    withheld: tuple[WithheldMail, ...]
    """Mails to it that were not delivered, also those from before it was suppressed."""


@dataclass(frozen=True)
class SuppressedPage:
    """Suppressed addresses in the order of their numbers; the next page begins after the last one."""

    suppressed: tuple[SuppressedRow, ...]
    more: bool


@dataclass(frozen=True)
class ReconciliationState:
    """What a reconciliation enqueued anew, and what it found that only a person can fix: kind and subject."""

    mended: tuple[tuple[str, str], ...]
    findings: tuple[tuple[str, str], ...]
    finished: bool = True
    """Whether there was time to look through everything; if not, asking again goes on."""


@dataclass(frozen=True)
class OutboxState:
    """How far the outbox is behind. `late` is due for longer than the relay needs: two minutes."""

    due: int
    late: int
    oldest_lateness_s: float
    waiting_for_their_time: int
    live: int
    dead: int
    failing: int = 0
    """Due jobs that a relay took before, and that could not be sent then."""
    of_unknown_queues: int = 0
    """Due jobs of queues that the release does not know; they are counted as due and late, too."""
    paused: int = 0
    """Jobs that would be due if no pause held them; they count as live only."""


@dataclass(frozen=True)
class PaymentEventRow:
    """A payment event that is not applied, or that nobody could read."""

    id: str
    gateway: str
    state: str
    status: str | None
    order_number: str | None
    flaw: str | None
    received_at: datetime


@dataclass(frozen=True)
class CorrectedEventRow:
    """An event that differs from what its gateway says: it came late, or somebody forged it."""

    id: str
    gateway: str
    order_number: str
    told: str
    told_rupiah: int
    confirmed: str
    confirmed_rupiah: int
    confirmed_at: datetime


@dataclass(frozen=True)
class AnomalyRow:
    """Money that does not fit, and what a person has to do about it."""

    id: int
    kind: str
    task: str
    order_number: str
    expected_rupiah: int
    amount_rupiah: int
    give_back_rupiah: int
    created_at: datetime


@dataclass(frozen=True)
class FindingRow:
    """What the reconciliation found, and since when: `subject` is an order, an event, a refund or a transaction."""

    id: int
    kind: str
    subject: str
    order_number: str | None
    first_seen_at: datetime


@dataclass(frozen=True)
class PaymentsState:
    """What of payments waits: the counts are of all, the lists hold the oldest.

    `set_aside` holds the newest events that people gave up: nothing waits for them.
    """

    unapplied: int
    quarantined: int
    open_anomalies: int
    events: tuple[PaymentEventRow, ...]
    anomalies: tuple[AnomalyRow, ...]
    corrected: tuple[CorrectedEventRow, ...] = ()
    """Of the last week, the newest first: they moved no money."""
    open_findings: int = 0
    findings: tuple[FindingRow, ...] = ()
    set_aside: tuple[PaymentEventRow, ...] = ()


@dataclass(frozen=True)
class QuarantinedContent:
    """A quarantined message whole. Whoever sent it may have put anything into it."""

    message: QuarantinedMessage
    body: str = field(repr=False)
    attributes: Mapping[str, str] = field(repr=False)
    binary_attributes: Mapping[str, str] = field(default_factory=dict, repr=False)
    """In base64."""
