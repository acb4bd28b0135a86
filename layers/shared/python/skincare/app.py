"""App: the ports that routes and handlers may use, and nothing else."""

from dataclasses import dataclass, field

from skincare.config import Settings
from skincare.database.connection import Database
from skincare.invoices.ports import ObjectStore
from skincare.jobs.ports import Queues
from skincare.jobs.publisher import Publisher
from skincare.notifications.ports import EmailSender
from skincare.payments.ports import Gateways, SecretStore


@dataclass(frozen=True)
class App:
    """One container's collaborators. Tests pass their own."""

    settings: Settings
    database: Database
    queues: Queues
    publisher: Publisher
    email: EmailSender
    webhook_secrets: SecretStore
    files: ObjectStore
    gateways: Gateways = field(default_factory=dict)
