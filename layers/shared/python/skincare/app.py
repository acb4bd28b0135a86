"""App: the ports that routes and handlers may use, and nothing else."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from skincare.config import Settings
from skincare.database.connection import Database
from skincare.invoices.ports import ObjectStore
from skincare.jobs.ports import Queues
from skincare.jobs.publisher import Publisher
from skincare.notifications.ports import EmailSender
from skincare.payments.ports import GatewayClient, SecretStore


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
    gateways: Mapping[str, GatewayClient] = field(default_factory=dict)
    """The gateways that can be asked, by name: those whose address is configured."""
