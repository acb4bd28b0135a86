"""The form of problem details (RFC 9457); `api.problems` has them all."""

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from api.errors import FieldError
from skincare.orders.errors import Excess, Shortage
from skincare.orders.models import OrderStatus

CONTENT_TYPE = "application/problem+json"


class Problem(BaseModel):
    """The body of an error answer (RFC 9457). Decide by `code`: it is never renamed."""

    # Most containers never meet most problems: each model is built when it is first needed.
    model_config = ConfigDict(frozen=True, defer_build=True)

    type: Annotated[str, Field(description="A URN made of `code`.")]
    title: Annotated[str, Field(description="What kind of problem it is, for people.")]
    status: Annotated[int, Field(description="The HTTP status of the answer.")]
    detail: Annotated[str, Field(description="What to know about this occurrence, for people.")]
    instance: Annotated[str, Field(description="A URN made of `request_id`.")]
    code: Annotated[str, Field(description="The kind of problem, for programs.")]
    request_id: Annotated[str, Field(description="As in the header X-Request-Id: quote it when asking for help.")]


class FieldsProblem(Problem):
    errors: Annotated[tuple[FieldError, ...], Field(min_length=1, description="Every rule that the request breaks.")]


class OrderedProblem(Problem):
    order_number: Annotated[str, Field(description="The order that the cart became.")]
    link: Annotated[str, Field(description="Its path.")]


class ShortageProblem(Problem):
    items: Annotated[tuple[Shortage, ...], Field(min_length=1, description="The lines that ask for too much.")]


class OpenOrdersProblem(Problem):
    open: Annotated[int, Field(description="How many unpaid orders the customer has.")]
    limit: Annotated[int, Field(description="How many one may have.")]
    order_numbers: Annotated[tuple[str, ...], Field(min_length=1, description="The unpaid orders, oldest first.")]


class ExcessProblem(Problem):
    items: Annotated[
        tuple[Excess, ...], Field(min_length=1, description="The lines that ask for more than is `allowed`.")
    ]


class PriceProblem(Problem):
    total_rupiah: Annotated[int, Field(description="What the cart costs now, in whole rupiah.")]


class StatusProblem(Problem):
    order_status: Annotated[OrderStatus, Field(description="How far the order has gone.")]


Details = Callable[[Any], Mapping[str, Any]]
"""Takes an error, and gives members or headers of the answer to it."""


@dataclass(frozen=True)
class ProblemType:
    """One kind of error: all that it is to a client.

    `code` is a contract with clients: it is never renamed. `errors` are the classes that it is the meaning of, with
    their subclasses unless those have one of their own. `body` has its members, which `members` takes from the error;
    `header` is what its answer has besides, which `headers` gives.
    """

    code: str
    status: int
    title: str
    detail: str
    body: type[Problem] = Problem
    _: KW_ONLY
    errors: tuple[type[Exception], ...]
    members: Details = lambda _: {}
    header: str | None = None
    headers: Details = lambda _: {}

    @property
    def uri(self) -> str:
        return f"urn:skincare:problem:{self.code}"


def problem(kind: ProblemType, request_id: str, **members: Any) -> Problem:
    """Describe one occurrence of a problem; `members` are its own or, as `detail` does, replace the usual ones."""
    usual = {
        "type": kind.uri,
        "title": kind.title,
        "status": kind.status,
        "detail": kind.detail,
        "instance": f"urn:skincare:request:{request_id}",
        "code": kind.code,
        "request_id": request_id,
    }
    return kind.body.model_validate(usual | members)
