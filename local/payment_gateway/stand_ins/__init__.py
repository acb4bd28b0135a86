"""One module per gateway that is played, by its name: its `StandIn` answers the shop as that gateway's API does."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, ClassVar, Protocol

from local.payment_gateway.answer import Answer
from local.payment_gateway.payment_store import PaymentStore
from local.settings import PAYMENT_GATEWAYS


class StandIn(Protocol):
    """A gateway's API; whoever calls it has checked the shop's key."""

    gives_back: ClassVar[bool]
    """Money can be given back on the page of the gateway."""

    def answer(self, method: str, path: str, read: Callable[[], dict[str, Any]], query: str = "", /) -> Answer | None:
        """Return the answer to a request whose JSON body `read` gives, None where there is nothing."""
        ...


def stand_ins(store: PaymentStore, *, page_url: str) -> Mapping[str, StandIn]:
    """Return all by the names of their gateways; at `page_url` a customer pays, with the reference added to it."""
    return {name: import_module(f"{__name__}.{name}").StandIn(store, page_url=page_url) for name in PAYMENT_GATEWAYS}
