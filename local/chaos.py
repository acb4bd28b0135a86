"""What can be broken in the local system on purpose, so that people can see what the shop does about it.

None of these switches is known to the code that is deployed.
"""

from enum import StrEnum

from emulator.switches import Fault


class Switch(StrEnum):
    """What can be broken. The names are a contract with scripts."""

    MAIL_DOWN = Fault.MAIL_DOWN
    MAIL_THROTTLED = Fault.MAIL_THROTTLED
    POISON_JOB = "poison_job"
    DATABASE_GONE = Fault.DATABASE_GONE
    DATABASE_SLOW = Fault.DATABASE_SLOW
    SQS_DOWN = Fault.SQS_DOWN
    DUPLICATE_DELIVERY = "duplicate_delivery"

    @property
    def heading(self) -> str:
        return _TEXTS[self][0]

    @property
    def effect(self) -> str:
        return _TEXTS[self][1]


_TEXTS = {
    Switch.MAIL_DOWN: ("Mail provider down", "SES answers every mail with 503."),
    Switch.MAIL_THROTTLED: ("Mail throttled", "SES answers every mail with 429, too many requests."),
    Switch.POISON_JOB: (
        "Poison job",
        "The next job kills its worker at every attempt; the waits between the attempts are left out.",
    ),
    Switch.DATABASE_GONE: ("Database gone", "The functions lose their connections and get no new ones."),
    Switch.DATABASE_SLOW: ("Database slow", "Each round trip of the functions takes half a second longer."),
    Switch.SQS_DOWN: ("SQS down", "Every call of SQS is answered with 503."),
    Switch.DUPLICATE_DELIVERY: ("Duplicate delivery", "Every batch is handed to two workers at once."),
}
