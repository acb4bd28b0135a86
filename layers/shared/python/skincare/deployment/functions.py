"""Every function: its code, what calls it, its time and memory, and the settings and queues that it is given."""

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from skincare.deployment.queues import QueueName
from skincare.deployment.settings import (
    CONTACT,
    CUSTOMERS,
    EVERYWHERE,
    FILES,
    GATEWAYS,
    MAIL,
    PASSWORD,
    PAYMENT_START,
    TAX,
    TOKEN_LOGIN,
    UNPAID_ORDERS,
    WORKER,
    Setting,
)


class Trigger(StrEnum):
    """What calls a function."""

    HTTP = "the HTTP API"
    QUEUE = "its queue"
    SCHEDULE = "a schedule, once a minute"
    MAIL_EVENT = "a bounce or complaint"
    PERSON = "an on-call engineer"
    DEPLOY = "each deploy"


@dataclass(frozen=True, kw_only=True)
class Function:
    """One function. Its name on AWS is `skincare-<stage>-<name>`; its code is the folder `package` in functions/."""

    name: str
    package: str
    description: str
    trigger: Trigger
    timeout: timedelta
    """Whole seconds."""
    memory_mb: int
    """Of one container; decides its share of CPU too."""
    database_connections: int = 1
    """Connections one container may open at once."""
    settings: tuple[Setting, ...] = ()
    """Besides those of every function and the URLs of its queues."""
    sends_to: tuple[QueueName, ...] = ()
    """The queues of the jobs that it sets off or publishes."""
    dead_letters_of: tuple[QueueName, ...] = ()
    """The queues whose dead-letter queue it uses."""
    packages: str | None = None
    """The file in requirements/ of what it loads beside the layer: that is part of its code, and of no other."""
    drains: QueueName | None = None
    impact: str | None = None
    """What follows when it fails: a sentence for the mails of its alarms. None: it has none, for somebody waits."""

    @property
    def handler(self) -> str:
        return f"{self.package}.lambda_function.lambda_handler"

    @property
    def all_settings(self) -> tuple[Setting, ...]:
        """Everything that the function is given."""
        own = () if self.drains is None else (self.drains,)
        sources = [Setting(queue_url(queue), "a queue", needed=True) for queue in dict.fromkeys((*own, *self.sends_to))]
        dead = [Setting(dead_letter_queue_url(q), "a dead-letter queue", needed=True) for q in self.dead_letters_of]
        return (*EVERYWHERE, *self.settings, *sources, *dead)

    @property
    def needs(self) -> tuple[str, ...]:
        """The variables without which it does not start."""
        return tuple(setting.name for setting in self.all_settings if setting.needed)

    def is_given(self, variable: str) -> bool:
        """Say whether a variable is for this function."""
        return any(setting.is_of(variable) for setting in self.all_settings)


def queue_url(queue: QueueName) -> str:
    """Return the variable that holds a queue's URL."""
    return f"QUEUE_URL_{queue.upper()}"


def dead_letter_queue_url(queue: QueueName) -> str:
    """Return the variable that holds the URL of a queue's dead-letter queue."""
    return f"DEAD_LETTER_QUEUE_URL_{queue.upper()}"


API = Function(
    name="api",
    package="api",
    description="Answers the HTTP API",
    trigger=Trigger.HTTP,
    timeout=timedelta(seconds=20),
    memory_mb=1024,
    settings=(*TOKEN_LOGIN, *CUSTOMERS, *FILES, *GATEWAYS, *PAYMENT_START, *UNPAID_ORDERS),
    # A mail about an order; an order's timer, and what gateways tell.
    sends_to=(QueueName.NOTIFICATIONS, QueueName.PAYMENTS),
    impact="Customers get errors instead of orders; payment gateways repeat their webhooks later.",
)
OUTBOX_RELAY = Function(
    name="outbox-relay",
    package="outbox_relay",
    description="Puts due jobs on their queues, each minute",
    trigger=Trigger.SCHEDULE,
    # Less than the minute between two runs, so that one never waits for another.
    timeout=timedelta(seconds=50),
    memory_mb=512,
    settings=TOKEN_LOGIN,
    sends_to=tuple(QueueName),
    dead_letters_of=tuple(QueueName),
    impact="Jobs that were not published at once, and retries that SQS lost, do not run.",
)
MAIL_EVENTS = Function(
    name="mail-events",
    package="mail_events",
    description="Remembers addresses that shall get no further mail",
    trigger=Trigger.MAIL_EVENT,
    timeout=timedelta(seconds=15),
    memory_mb=512,
    settings=TOKEN_LOGIN,
    impact="Mails go on to addresses that bounce, until SES stops us.",
)
ONCALL = Function(
    name="oncall",
    package="oncall",
    description="What on-call may do about jobs, dead letters and payments",
    trigger=Trigger.PERSON,
    timeout=timedelta(seconds=30),
    memory_mb=512,
    # The file of an export is handed out by a link.
    settings=(*TOKEN_LOGIN, *FILES),
    # A redrive publishes; the dead letter of a job that came back is cleared away by the relay.
    sends_to=tuple(QueueName),
)
MIGRATOR = Function(
    name="migrator",
    package="migrator",
    description="Applies pending SQL migrations during a deploy",
    trigger=Trigger.DEPLOY,
    timeout=timedelta(minutes=5),
    memory_mb=512,
    settings=PASSWORD,
)

_OF_A_WORKER: dict[QueueName, tuple[Setting, ...]] = {
    QueueName.PAYMENTS: GATEWAYS,
    QueueName.NOTIFICATIONS: (*MAIL, *CONTACT),
    QueueName.DOCUMENTS: (*FILES, *CONTACT, *TAX),
}
_PACKAGES = {QueueName.DOCUMENTS: "documents"}
_SETS_OFF = {QueueName.PAYMENTS: tuple(QueueName)}
"""A payment is followed by a mail and an invoice."""


def _worker(queue: QueueName) -> Function:
    limits = queue.limits
    return Function(
        name=f"worker-{queue}",
        package="worker",
        description=f"Runs the jobs of the queue {queue}",
        trigger=Trigger.QUEUE,
        timeout=limits.function_timeout,
        memory_mb=limits.memory_mb,
        database_connections=limits.database_connections,
        settings=(*TOKEN_LOGIN, *WORKER, *_OF_A_WORKER.get(queue, ())),
        packages=_PACKAGES.get(queue),
        drains=queue,
        sends_to=_SETS_OFF.get(queue, ()),
        # For messages that belong to no job. All others are the relay's.
        dead_letters_of=(queue,),
        impact=f"Jobs of the queue {queue} wait and are tried again.",
    )


WORKERS = {queue: _worker(queue) for queue in QueueName}
FUNCTIONS = (API, *WORKERS.values(), OUTBOX_RELAY, MAIL_EVENTS, ONCALL, MIGRATOR)


def worker(queue: QueueName) -> Function:
    """Return the worker that drains this queue."""
    return WORKERS[queue]
