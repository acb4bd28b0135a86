"""The composition root: settings become adapters, adapters become the App, once per container."""

from functools import cache

from skincare.adapters.aws import AwsSession
from skincare.adapters.database_token import IamDatabaseCredentials
from skincare.adapters.missing_queue import MissingQueue
from skincare.adapters.s3 import S3ObjectStore
from skincare.adapters.secrets import SecretsManagerDatabaseCredentials
from skincare.adapters.ses import SesEmailSender
from skincare.adapters.sqs import IN_THE_BACKGROUND, WHILE_A_CUSTOMER_WAITS, SqsQueue
from skincare.adapters.webhook_secrets import SecretsManagerWebhookSecrets
from skincare.app import App
from skincare.config import Settings, require
from skincare.database.connection import Credentials, Database, StaticCredentials
from skincare.deployment.functions import MIGRATOR, Function, dead_letter_queue_url, queue_url
from skincare.deployment.queues import QueueName
from skincare.errors import ConfigurationError
from skincare.jobs.ports import Queue, QueuePair, Queues
from skincare.jobs.publisher import Publisher
from skincare.payments.gateways import clients


@cache
def get_app(function: Function) -> App:
    """Return this container's App. Raises `ConfigurationError` naming the setting that the function lacks."""
    return build_app(Settings.from_env(needs=function.needs))


def owner_conninfo() -> str:
    """Return how to connect as the owner of the schema: only the migrator is given those credentials."""
    settings = Settings.from_env(needs=MIGRATOR.needs)
    return _credentials(settings, _aws(settings)).conninfo()


def build_app(settings: Settings) -> App:
    """Wire an App; nothing is connected before its first use, and what a function is not given is missed there."""
    aws = _aws(settings)
    database = Database(_credentials(settings, aws), max_connections=_connections(settings))
    queues = _queues(settings, aws)
    secrets = SecretsManagerWebhookSecrets(settings.webhook_secret_ids, aws=aws)
    return App(
        settings=settings,
        database=database,
        queues=queues,
        publisher=Publisher(database, queues),
        email=SesEmailSender(settings.mail_from, configuration_set=settings.mail_configuration_set, aws=aws),
        webhook_secrets=secrets,
        gateways=clients.connect(settings.gateway_urls, secrets),
        files=S3ObjectStore(settings.invoice_bucket, aws=aws),
    )


def _aws(settings: Settings) -> AwsSession:
    return AwsSession(settings.aws_endpoint_url, keys=settings.aws_keys, region=settings.aws_region)


def _connections(settings: Settings) -> int:
    return worker_queue(settings).limits.database_connections if settings.worker_queue else 1


def worker_queue(settings: Settings) -> QueueName:
    """Return the queue that this worker drains; raises `ConfigurationError` where WORKER_QUEUE names none."""
    try:
        return QueueName(require(settings.worker_queue, "WORKER_QUEUE"))
    except ValueError:
        raise ConfigurationError("the environment variable WORKER_QUEUE names no queue") from None


def _credentials(settings: Settings, aws: AwsSession) -> Credentials:
    if settings.database_iam_auth:
        return IamDatabaseCredentials(settings.database_url, keys=settings.aws_keys, region=settings.aws_region)
    if settings.database_secret_id is None:
        return StaticCredentials(settings.database_url)
    return SecretsManagerDatabaseCredentials(settings.database_url, settings.database_secret_id, aws=aws)


def _queues(settings: Settings, aws: AwsSession) -> Queues:
    timeouts = WHILE_A_CUSTOMER_WAITS if settings.serves_customers else IN_THE_BACKGROUND

    def queue(url: str | None, variable: str) -> Queue:
        return MissingQueue(variable) if url is None else SqsQueue(url, aws=aws, timeouts=timeouts)

    return {
        name: QueuePair(
            source=queue(settings.source_queue_urls.get(name), queue_url(name)),
            dead_letters=queue(settings.dead_letter_queue_urls.get(name), dead_letter_queue_url(name)),
        )
        for name in QueueName
    }
