"""How long each table's rows are kept, and why: docs/retention.md is this table for people.

The windows of what is removed stand once more in `database/functions/kept_for.sql`, which alone the removal obeys; a
test holds both together.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

# Two terms are others' rules as the team reads them, and no legal advice: docs/retention.md says who checks them.
BOOKS: Final = timedelta(days=3653)
"""Ten years, with their leap days: how long books and what they rest on are kept (Indonesia: UU 28/2007 on taxes,
article 28 (11))."""
CARD_DISPUTES: Final = timedelta(days=540)
"""The latest that a card's holder may dispute a payment, counted from it (Visa's rules: 120 days as a rule,
never more than 540; other schemes end earlier)."""


@dataclass(frozen=True, kw_only=True)
class Rule:
    """What becomes of one table's rows, or of one column of theirs.

    `kept` counts from when a row ended, `since` says with which moment; None means while it is needed. A rule without
    `removed_by`, the name of a function in SQL, is about what retention does not remove itself.
    """

    what: str
    """A table, or a table and its column."""
    kept: timedelta | None = None
    since: str = ""
    why: str
    removed_by: str | None = None

    @property
    def table(self) -> str:
        return self.what.partition(".")[0]


_BOOKS = "evidence for the books"
_WITH_ORDER = "part of the order"

RULES: tuple[Rule, ...] = (
    Rule(
        what="jobs",
        kept=timedelta(days=90),
        since="it completed or was cancelled; dead and unfinished jobs stay",
        why="longer than any message of SQS lives and than a reconciliation looks back; then nobody asks",
        removed_by="prune_jobs",
    ),
    Rule(what="job_attempts", kept=timedelta(days=90), since="its job ended", why="goes with its job"),
    Rule(what="dead_letter_acknowledgements", kept=timedelta(days=90), since="its job ended", why="goes with its job"),
    Rule(what="job_schedule", why="a row goes when the relay meets it after its job has moved on"),
    Rule(what="job_keys", why="a row goes when its job ends"),
    Rule(what="dead_jobs", why="a row goes when its job comes back or is discarded"),
    Rule(what="job_pauses", why="few rows: budgets leave out the time in which a pause held jobs"),
    Rule(
        what="idempotency_keys",
        kept=timedelta(days=90),
        since="the order was placed",
        why="no client repeats a request after that",
        removed_by="prune_idempotency_keys",
    ),
    Rule(
        what="cart_items",
        kept=timedelta(days=180),
        since="the cart was last changed",
        why="a cart that was left behind",
        removed_by="prune_cart_items",
    ),
    Rule(what="carts", why="one short row for each customer: its version keeps one cart from becoming two orders"),
    Rule(
        what="payment_events.body",
        kept=CARD_DISPUTES,
        since="it was received; its SHA-256 takes its place",
        why="the longest term of a dispute over a card; the body holds what we need not know of a payer",
        removed_by="prune_payment_event_bodies",
    ),
    Rule(what="payment_events", kept=BOOKS, why=f"{_BOOKS}: what moved money, and that it was told once"),
    Rule(
        what="quarantined_messages",
        kept=timedelta(days=90),
        since="somebody closed it; open ones stay",
        why="its body may hold anything",
        removed_by="prune_quarantined_messages",
    ),
    Rule(
        what="reconciliation_runs",
        kept=timedelta(days=90),
        since="it finished",
        why="its findings are kept by themselves",
        removed_by="prune_reconciliation_runs",
    ),
    Rule(
        what="reconciliation_findings",
        kept=timedelta(days=365),
        since="it was gone; what is still found stays",
        why="what an audit of the year looks at",
        removed_by="prune_reconciliation_findings",
    ),
    Rule(what="orders", kept=BOOKS, why=_BOOKS),
    Rule(what="order_items", kept=BOOKS, why=_WITH_ORDER),
    Rule(what="order_notifications", kept=BOOKS, why=f"{_WITH_ORDER}: no mail is sent twice"),
    Rule(what="order_refunds", kept=BOOKS, why=_BOOKS),
    Rule(what="payments", kept=BOOKS, why=_BOOKS),
    Rule(what="payment_attempts", kept=BOOKS, why=f"{_BOOKS}: what a gateway's reference means"),
    Rule(what="payment_anomalies", kept=BOOKS, why=_BOOKS),
    Rule(what="set_aside_events", kept=BOOKS, why="part of the payment event"),
    Rule(what="refunds", kept=BOOKS, why=_BOOKS),
    Rule(what="invoices", kept=BOOKS, why=_BOOKS),
    Rule(what="invoice_counters", kept=BOOKS, why="no number is given twice"),
    Rule(what="credit_notes", kept=BOOKS, why=_BOOKS),
    Rule(what="credit_note_counters", kept=BOOKS, why="no number is given twice"),
    Rule(what="operations_audit", kept=BOOKS, why="who moved money, and why"),
    Rule(
        what="customer_requests",
        kept=BOOKS,
        why="that a customer asked, and when it was done; a finished one names nobody",
    ),
    Rule(what="suppressed_recipients", why="an address that bounces stays suppressed until a person lifts it"),
    Rule(what="products", why="what orders name"),
    Rule(what="product_details", why="part of the product"),
    Rule(what="product_search", why="a row goes when its product is not active any more"),
    Rule(what="search_words", why="few and short: words by which a misspelt one is recognised"),
    Rule(what="search_synonyms", why="what the shop's words are called otherwise"),
    Rule(what="stock_movements", kept=BOOKS, why=f"{_BOOKS}: a product's stock is their sum"),
    Rule(what="schema_migrations", why="how the tables came to be"),
    Rule(what="schema_functions", why="which functions are installed"),
)
"""Every table of the schema, and what of it is removed earlier. A table that is missing here is a red test."""

REMOVED: tuple[tuple[Rule, str], ...] = tuple((rule, rule.removed_by) for rule in RULES if rule.removed_by)
"""The rules that something is removed by, each with its function in SQL."""
