"""Makes the SQS of moto safe for threads.

moto's queue deletes by copying its list of messages without holding the queue's own lock, and receives and
hides without it too: a message that is sent meanwhile is lost, a deleted one comes back, two consumers take
the same one. tests/emulator/test_aws_lock.py tells when moto no longer needs this module.
"""

import functools
from collections.abc import Callable
from typing import Any

from moto.sqs.models import Queue, SQSBackend

_MARK = "__holds_queue_lock__"


def install() -> None:
    """Let deleting, receiving, hiding and purging hold the lock that sending holds; may be called again.

    The lock is the condition that a long poll waits on, and waiting releases it.
    """
    _lock(Queue, ["delete_message"], _itself)
    _lock(SQSBackend, ["receive_message", "change_message_visibility", "purge_queue"], _by_name)


def _lock(owner: type[object], methods: list[str], queue_of: Callable[..., Queue]) -> None:
    for name in methods:
        method = getattr(owner, name)
        if not hasattr(method, _MARK):
            setattr(owner, name, _holding_lock(method, queue_of))


def _holding_lock(method: Callable[..., Any], queue_of: Callable[..., Queue]) -> Callable[..., Any]:
    @functools.wraps(method)
    def holding_lock(*args: Any, **kwargs: Any) -> Any:
        with queue_of(*args, **kwargs)._messages_lock:
            return method(*args, **kwargs)

    setattr(holding_lock, _MARK, True)
    return holding_lock


def _itself(queue: Queue, *_args: Any, **_kwargs: Any) -> Queue:
    return queue


def _by_name(backend: SQSBackend, queue_name: str, *_args: Any, **_kwargs: Any) -> Queue:
    return backend.get_queue(queue_name)
