"""`make worker`: the workers of a running system in a terminal of their own."""

import time

from emulator.log.logbook import LogBook
from emulator.processes.children import Children, is_alive, stop_leftovers
from emulator.processes.stopping import until_stopped
from emulator.switches import Switches
from local.errors import LocalSystemError
from local.functions import LocalEnvironment
from local.settings import LocalSettings, payment_gateway_url
from local.state import RunningSystem, StateFolder, shown
from local.terminal import log_book
from local.workers import Workers, queues_without_worker
from skincare.adapters.aws import AwsSession

_LOOK_AGAIN_S = 0.5


def work(settings: LocalSettings) -> int:
    """Serve the queues of the system that runs on this port, and of the next one when it was restarted."""
    state = StateFolder.of_port(settings.port)
    log = log_book(state.logs)
    taken = f"Workers of port {settings.port} run already (process {{pid}}): stop them first."
    with until_stopped(), state.hold("worker.lock", taken):
        stop_leftovers(state.children("worker"))
        _serve_whatever_runs(state, log)
    log.say("Stopped.")
    return 0


def _serve_whatever_runs(state: StateFolder, log: LogBook) -> None:
    while True:
        _serve(_wait_for_system(state, log), state, log)
        log.say(f"The system on port {state.port} has stopped.")


def _wait_for_system(state: StateFolder, log: LogBook) -> RunningSystem:
    announced = False
    while not (system := state.running()):
        if not announced:
            log.say(f"Waiting for a system on port {state.port}: start it with `PORT={state.port} make api`.")
            announced = True
        time.sleep(_LOOK_AGAIN_S)
    return system


def _serve(system: RunningSystem, state: StateFolder, log: LogBook) -> None:
    environment = LocalEnvironment(
        database_url=system.database_url,
        aws_endpoint_url=system.aws_endpoint_url,
        payment_gateway_url=payment_gateway_url(state.port),
    )
    children = Children(state.children("worker"))
    aws = AwsSession(system.aws_endpoint_url)
    workers = Workers(
        environment,
        aws=aws,
        children=children,
        log=log,
        presence=state.workers,
        switches=Switches(state.switches),
    )
    try:
        workers.start_functions()
        workers.start()
        announced = False
        while is_alive(system.process) and state.running() == system:
            if not announced and not queues_without_worker(state.workers):
                log.say(f"Workers of port {state.port} are ready. Ctrl-C stops them.")
                announced = True
            for pool in workers.pools.values():
                if (error := pool.start_error) and not announced:
                    raise LocalSystemError(
                        f"The function {pool.name} does not start ({error}): see {shown(state.logs / pool.name)}.log."
                    )
            time.sleep(_LOOK_AGAIN_S if announced else 0.05)
    finally:
        workers.stop()
        children.stop_all()
