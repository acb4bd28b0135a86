"""A route: one declarative place for what a path takes and answers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from pydantic import BaseModel

from api import problems
from api.identity import Customer, customer_of
from api.problem import ProblemType
from skincare.app import App
from skincare.identifiers import OrderNumber, read_order_number


@dataclass(frozen=True)
class Request[Body, Query]:
    """A request whose parts have been checked. `path` holds the values of the path's parameters."""

    path: Mapping[str, str] = field(repr=False)
    query: Query = field(repr=False)
    body: Body = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)
    claims: Mapping[str, Any] = field(repr=False)
    request_id: str
    trace_id: str | None = None

    @property
    def customer(self) -> Customer:
        """The caller; raises `Unauthenticated` where the token names nobody."""
        return customer_of(self.claims)

    @property
    def order_number(self) -> OrderNumber:
        """The order that the path names, however it is written; a text that is no number names no order either."""
        try:
            return read_order_number(self.path["order_number"])
        except ValueError:
            return OrderNumber(self.path["order_number"])


@dataclass(frozen=True)
class Route[Body, Query]:
    """What one method on one path does.

    `handle` returns something whose attributes `answer` reads; its docstring tells clients what the route does.
    `headers` makes response headers from what it returned, all of them among `header_names`. A model in `body`
    or `query` checks that part before `handle` runs. `problems` are the route's own; `all_problems` has the
    ones that come with its shape too.
    """

    method: str
    path: str
    """A template such as /v1/orders/{order_number}."""
    handle: Callable[[Request[Body, Query], App], object]
    answer: type[BaseModel]
    status: int = 200
    body: type[Body] | None = None
    query: type[Query] | None = None
    headers: Callable[[Any], Mapping[str, str]] | None = None
    header_names: tuple[str, ...] = ()
    other_statuses: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    """Further statuses of success with the headers of each; then `status_of` says which one it is."""
    status_of: Callable[[Any], int] | None = None
    takes_bytes: bool = False
    """The body is handed on as its sender wrote it: whoever signed it signed these bytes."""
    public: bool = False
    problems: tuple[ProblemType, ...] = ()

    @cached_property
    def all_problems(self) -> frozenset[ProblemType]:
        # Any request may have a query that the route does not know.
        shared = {
            problems.BODY_TOO_LARGE,
            problems.INTERNAL_ERROR,
            problems.UNAVAILABLE,
            problems.VALIDATION_FAILED,
        }
        if not self.public:
            shared.add(problems.UNAUTHENTICATED)
        if self.body is not None:
            shared |= {problems.REQUEST_MALFORMED, problems.MEDIA_TYPE_UNSUPPORTED}
        if self.takes_bytes:
            shared.add(problems.REQUEST_MALFORMED)
        return frozenset(shared | set(self.problems))

    def detail_of(self, kind: ProblemType) -> str:
        """Return what a problem's usual detail is on this route."""
        keyed = problems.IDEMPOTENCY_KEY_MISSING in self.all_problems
        return f"{kind.detail} Send the same Idempotency-Key." if keyed and kind in problems.REPEATABLE else kind.detail
