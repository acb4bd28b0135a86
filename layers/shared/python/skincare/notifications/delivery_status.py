"""What the status code of a bounce speaks about: the address, this mail, a mailbox that is full, or us and the way.

Sources: RFC 3463 (class.subject.detail), and the IANA registry "SMTP Enhanced Status Codes", which adds X.1.9, X.1.10
(RFC 7504, 7505) and X.7.20 to X.7.30 (RFC 7372, 7489 and others).
"""

import re
from enum import StrEnum

_STATUS = re.compile(r"([45])\.(\d{1,3})\.(\d{1,3})")

_ADDRESSING, _POLICY = 1, 7

# The sender's own mailbox and system.
_THE_SENDER = frozenset({(1, 7), (1, 8)})
# X.1.5 says that the address is valid, X.1.9 that a mail system on the way lacks a feature.
_NOT_THE_ADDRESS = frozenset({5, 9})

_MAILBOX_DISABLED = (2, 1)
_MAILBOX_FULL = (2, 2)
# Too long for the mailbox, too big for its system, and all that is said of content and media (X.6.x).
_MAIL_TOO_LARGE = frozenset({(2, 3), (3, 4)})
_CONTENT = 6


class About(StrEnum):
    """What a permanent status is about."""

    ADDRESS = "address"
    """Nobody reads mail there: the next one cannot arrive either."""
    MAILBOX_FULL = "mailbox_full"
    THIS_MAIL = "this_mail"
    """Its size or content: another mail may be taken."""
    US = "us"
    """Our address, its authentication, or a policy against us."""
    THE_WAY = "the_way"
    """A system, a route or a protocol, or nothing that says which: hardly the address."""


def about(status: str | None) -> About | None:
    """Return what a status such as `5.1.1` is about; None for one that may pass by itself, or that is no status.

    A refusal by policy (X.7.x) is about us also while it passes for temporary.
    """
    match = _STATUS.fullmatch(status or "")
    if match is None:
        return None
    is_permanent, what = match[1] == "5", (int(match[2]), int(match[3]))
    if what[0] == _POLICY or what in _THE_SENDER:
        return About.US
    if what == _MAILBOX_FULL:
        return About.MAILBOX_FULL
    return _of_a_refusal(*what) if is_permanent else None


def _of_a_refusal(subject: int, detail: int) -> About:
    if (subject == _ADDRESSING and detail not in _NOT_THE_ADDRESS) or (subject, detail) == _MAILBOX_DISABLED:
        return About.ADDRESS
    if subject == _CONTENT or (subject, detail) in _MAIL_TOO_LARGE:
        return About.THIS_MAIL
    return About.THE_WAY
