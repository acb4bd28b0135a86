"""Background tasks beside the functions: the relay's schedule, invoices of earlier runs."""

import contextlib
import threading
from collections.abc import Callable
from functools import partial

from emulator.aws.files import file_of
from emulator.functions.function import Function
from emulator.functions.schedule import Schedule
from emulator.log.logbook import LogBook
from emulator.processes.threads import start_thread
from local.functions import INVOICE_BUCKET, LocalEnvironment
from local.invoices import restore_invoices
from local.settings import RELAY_INTERVAL
from local.state import StateFolder
from skincare.bootstrap import build_app
from skincare.config import Settings
from skincare.deployment.queues import QueueName


def start_background_tasks(
    undo: contextlib.ExitStack,
    relay: Function,
    environment: LocalEnvironment,
    *,
    state: StateFolder,
    log: LogBook,
    say: Callable[[str], None],
) -> None:
    """Start them; `undo` ends them."""
    # The first tick starts the container.
    schedule = Schedule(relay, name="outbox-relay", every=RELAY_INTERVAL, log=log)
    undo.callback(schedule.stop)
    schedule.start()
    stopping = threading.Event()
    undo.callback(stopping.set)
    start_thread("invoices", partial(_restore_invoices, environment, state, stopping, say), log=log)


def _restore_invoices(
    environment: LocalEnvironment, state: StateFolder, stopping: threading.Event, say: Callable[[str], None]
) -> None:
    app = build_app(Settings.from_env(environment.worker(QueueName.DOCUMENTS).environment))
    try:
        restore_invoices(
            app,
            is_kept=lambda key: file_of(state.files, INVOICE_BUCKET, key).exists(),
            stopping=stopping,
            say=say,
        )
    finally:
        app.database.close()
