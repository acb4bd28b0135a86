"""What SQS takes as a message.

Checked before sending, because some of these make SQS refuse the whole call, neighbours included.
Source: "SendMessageBatch" in the API reference; "Amazon SQS message attributes" in the Developer Guide.
"""

import re
from collections.abc import Iterator, Sequence

from skincare.jobs.ports import MOST_ATTRIBUTES, OutgoingMessage

MAX_BYTES = 1_048_576
"""Of one message and of all messages of one call: bodies and attributes (name, type and value) in UTF-8."""

MAX_ENTRIES = 10
"""Entries of one batch call, and messages of one receive."""

_STRING_TYPE_BYTES = len("String")
# XML 1.0, production 2: also lone surrogates are outside, so what passes can be encoded.
_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_ATTRIBUTE_NAME = re.compile(r"(?!(?i:aws\.|amazon\.))(?!.*\.\.)(?!\.)[A-Za-z0-9_.-]{1,256}(?<!\.)")


type Entry = tuple[int, OutgoingMessage]
"""A message and its place in the caller's list."""


def refusal_of(message: OutgoingMessage) -> str | None:
    """Return the code of the rule that a message breaks, or None: SQS would take it."""
    if not message.body:
        return "EmptyMessage"
    if _ILLEGAL.search(message.body):
        return "InvalidMessageContents"
    if len(message.attributes) > MOST_ATTRIBUTES:
        return "InvalidMessageAttributes"
    for name, value in message.attributes.items():
        if not _ATTRIBUTE_NAME.fullmatch(name) or not value or _ILLEGAL.search(value):
            return "InvalidMessageAttributes"
    return "MessageTooLong" if size_of(message) > MAX_BYTES else None


def size_of(message: OutgoingMessage) -> int:
    """Return the bytes that count towards `MAX_BYTES`; the message must be free of lone surrogates."""
    size = _bytes_of(message.body)
    for name, value in message.attributes.items():
        size += _bytes_of(name) + _STRING_TYPE_BYTES + _bytes_of(value)
    return size


def _bytes_of(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())


def chunks(entries: Sequence[Entry]) -> Iterator[list[Entry]]:
    """Split entries that SQS would take into what fits one call each, in their order."""
    chunk: list[Entry] = []
    size = 0
    for entry in entries:
        entry_size = size_of(entry[1])
        if chunk and (len(chunk) == MAX_ENTRIES or size + entry_size > MAX_BYTES):
            yield chunk
            chunk, size = [], 0
        chunk.append(entry)
        size += entry_size
    if chunk:
        yield chunk
