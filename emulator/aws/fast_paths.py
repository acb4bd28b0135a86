"""Spares moto what it does again for each request and each message, and answers the same.

With some hundred messages waiting, moto counts all of them for each that it hands out, and asks the folder of its
modules which services there are for each request: that was a third of what the local system had to do for an order.
"""

import copy
import functools
import time
from collections.abc import Iterator, Mapping
from typing import Any

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from moto.sqs import models
from moto.sqs.models import Message, Queue, SQSBackend


class Dispatcher(DomainDispatcherApplication):
    """moto's own, which remembers which of its services a host is."""

    def __init__(self) -> None:
        super().__init__(create_backend_app)
        self._known = functools.cache(super().get_backend_for_host)

    def get_backend_for_host(self, host: str | None) -> Any:
        return self._known(host)


class _Attributes(Mapping[str, Any]):
    """A queue's attributes, worked out when one is read that it has: counting its messages is most of the work."""

    def __init__(self, queue: Queue) -> None:
        self._queue = queue

    @functools.cached_property
    def _all(self) -> dict[str, Any]:
        found: dict[str, Any] = _all_attributes(self._queue)
        return found

    def get(self, name: str, default: Any = None) -> Any:
        if not self._queue.fifo_queue and name in Queue.FIFO_ATTRIBUTES:
            return default
        return self._all.get(name, default)

    def __getitem__(self, name: str) -> Any:
        return self._all[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)


_all_attributes: Any = Queue.attributes.fget  # type: ignore[attr-defined]


def install() -> None:
    """Let moto's SQS take shorter ways; may be called again."""
    replacements: list[tuple[Any, str, Any]] = [
        (models, "unix_time_millis", lambda: time.time() * 1000),
        (models, "deepcopy", _copied),
        (Queue, "attributes", property(_Attributes)),
        (Queue, "messages", property(_visible)),
        (Message, "had_receipt_handle", _had_receipt_handle),
        (SQSBackend, "is_message_valid_based_on_retention_period", _is_retained),
    ]
    for owner, name, replacement in replacements:
        setattr(owner, name, replacement)


def _copied(each: Any) -> Any:
    """Copy a message as far as moto changes it afterwards: it gives the copy other attributes."""
    return copy.copy(each) if isinstance(each, Message) else copy.deepcopy(each)


def _now_ms() -> float:
    """Return what moto takes for the time: its functions are looked up in its module, where a clock may be put."""
    clock: Any = vars(models)["unix_time_millis"]
    return float(clock())


def _visible(queue: Queue) -> list[Message]:
    now = _now_ms()
    return [message for message in queue._messages if now > message.visible_at and now >= message.delayed_until]


def _had_receipt_handle(message: Message, receipt_handle: str) -> bool:
    return receipt_handle == message.receipt_handle or receipt_handle in message._old_receipt_handles


def _is_retained(backend: SQSBackend, queue_name: str, message: Message) -> bool:
    queue: Any = backend.get_queue(queue_name)
    sent_ms: Any = message.sent_timestamp
    return bool(queue.message_retention_period * 1000 + sent_ms > _now_ms())
