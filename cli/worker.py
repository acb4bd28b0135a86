"""`skincare worker`: drain a queue with a long-running process instead of a function."""

import os
import sys
from typing import Annotated

import typer

from cli.system import plain_errors, running_system
from skincare.config import Settings
from skincare.deployment.functions import worker as worker_function
from skincare.deployment.queues import QueueName
from skincare.errors import ConfigurationError


def worker(queue: Annotated[QueueName, typer.Option(help="The queue to drain.")]) -> None:
    """Drain a queue until Ctrl-C or SIGTERM, then finish or release what runs.

    In a container the environment says where everything is, as it does for the functions; without
    DATABASE_URL this works for the local system of this PORT.
    """
    if "DATABASE_URL" not in os.environ:
        _become_local_worker(queue)
    from skincare.bootstrap import build_app
    from worker.process import work

    try:
        environment = {**os.environ, "WORKER_QUEUE": queue.value}
        app = build_app(Settings.from_env(environment, needs=worker_function(queue).needs))
    except ConfigurationError as error:
        typer.echo(f"{str(error)[:1].upper()}{str(error)[1:]}.", err=True)
        raise typer.Exit(1) from None
    work(app, queue)


def _become_local_worker(queue: QueueName) -> None:
    """Start this command again with the environment that the local system gives its worker functions."""
    from local.functions import LocalEnvironment
    from local.settings import LocalSettings, payment_gateway_url

    with plain_errors():
        system = running_system()
    local_environment = LocalEnvironment(
        database_url=system.database_url,
        aws_endpoint_url=system.aws_endpoint_url,
        payment_gateway_url=payment_gateway_url(LocalSettings.from_env().port),
    )
    environment = dict(local_environment.worker(queue).environment)
    sys.stdout.flush()
    command = [sys.executable, "-m", "cli.main", "worker", "--queue", queue]
    os.execve(sys.executable, command, environment)  # noqa: S606  ourselves, without a shell on purpose
