"""The whole shop on this machine: what starts, in which order, and how it stops."""

import contextlib
import socket
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial

from botocore.exceptions import BotoCoreError, ClientError

from emulator.aws.process import start_aws
from emulator.functions.function import InvocationFailed
from emulator.functions.invocations import Invocations
from emulator.functions.pool import FunctionPool
from emulator.gateway.answered import Answered
from emulator.gateway.gateway import Gateway
from emulator.log.logbook import LogBook
from emulator.loopback.ports import PortRefused, free_port, listen
from emulator.postgres import DataDamaged, PostgresFailed, PostgresServer
from emulator.postgres.database_proxy import start_database_proxy
from emulator.processes.children import Children, stop_leftovers
from emulator.settings import LOOPBACK
from emulator.switches import Switches
from local import aws_setup, health
from local.background import start_background_tasks
from local.errors import LocalSystemError
from local.functions import ONCALL, LocalEnvironment, migrator
from local.http_api import http_api
from local.page import STATE
from local.pages import pages
from local.repository import add_products, publish_again, set_app_password
from local.seed import PRODUCTS
from local.settings import API_CONTAINERS, PAYMENT_GATEWAYS, payment_gateway_url
from local.state import Secrets, StateFolder, shown
from local.tokens import token_issuer
from local.workers import Workers
from skincare.adapters.aws import AwsSession
from skincare.database.connection import Database, StaticCredentials

_TIMEOUT = timedelta(seconds=60)
_LOOK_AGAIN_S = 0.25


class System:
    """Everything that `make run` starts; without workers it is what `make api` starts."""

    def __init__(
        self,
        state: StateFolder,
        *,
        log: LogBook,
        with_workers: bool,
        say: Callable[[str], None] = lambda _: None,
        payment_gateway: str = PAYMENT_GATEWAYS[0],
    ) -> None:
        self._state = state
        self._log = log
        self._with_workers = with_workers
        self._say = say
        self._payment_gateway = payment_gateway
        self._running = contextlib.ExitStack()
        self._irreplaceable: dict[str, Callable[[], int | None]] = {}
        """What is not started again when it ends, because it holds what the others know; with its exit code."""
        self.url = f"http://{LOOPBACK}:{state.port}"

    def start(self, *, reset: bool = False) -> None:
        """Start and return when all is ready; raises `LocalSystemError` with nothing left running."""
        with contextlib.ExitStack() as undo:
            listener = self._take_possession(undo, reset=reset)
            try:
                self._start_parts(undo, listener)
            except DataDamaged as error:
                raise LocalSystemError(f"{str(error).removesuffix('.')}: {self._way_out()}") from error
            except PostgresFailed as error:
                raise LocalSystemError(str(error)) from error
            self._running = undo.pop_all()

    def stop(self) -> None:
        """Stop everything; does nothing when it is not running."""
        self._running.close()

    def wait_for_loss(self) -> str:
        """Wait until PostgreSQL or the local AWS ends by itself; return which one and how, in words."""
        while not (lost := self._lost()):
            time.sleep(_LOOK_AGAIN_S)
        return lost

    def _take_possession(self, undo: contextlib.ExitStack, *, reset: bool) -> socket.socket:
        state = self._state
        undo.enter_context(
            state.hold(
                "run.lock",
                f"A local system runs on port {state.port} already (process {{pid}}): "
                "stop it with Ctrl-C there, or choose another port with PORT=….",
            )
        )
        if self._with_workers:
            undo.enter_context(
                state.hold(
                    "worker.lock",
                    f"Workers of port {state.port} run in another terminal (process {{pid}}): "
                    "stop them there, or start `make api` beside them.",
                )
            )
        listener = undo.enter_context(_listen(state.port))
        commands = ["run", "worker"] if self._with_workers else ["run"]
        leftovers = [name for command in commands for name in stop_leftovers(state.children(command))]
        if leftovers:
            self._say(f"Stopped what a killed run had left: {', '.join(leftovers)}.")
        if deleted := state.prepare(reset=reset):
            self._say(
                f"RESET: deleted {', '.join(deleted)} in {shown(state.folder)}, and with that all orders and mails."
            )
        undo.callback(self._log.close)
        return listener

    def _start_parts(self, undo: contextlib.ExitStack, listener: socket.socket) -> None:
        state, log = self._state, self._log
        secrets = state.secrets()
        self._say(f"Starting the shop on port {state.port}.")
        children = Children(state.children("run"))
        undo.callback(children.stop_all)
        postgres = PostgresServer(state.postgres, port=free_port())
        undo.callback(postgres.stop)
        # Bound here, so that its address is known before it runs.
        aws_listener = undo.enter_context(listen())
        environment = self._environment(undo, children, postgres=postgres, aws_listener=aws_listener, secrets=secrets)
        aws = AwsSession(environment.aws_endpoint_url)
        # What needs nothing starts beside what it will need.
        background = undo.enter_context(ThreadPoolExecutor(max_workers=2, thread_name_prefix="start"))
        undo.callback(children.stop_all)  # whoever waits in the background for AWS need not wait longer
        database_up = background.submit(postgres.start)
        aws_up = background.submit(self._start_aws, children, aws_listener, aws, secrets)

        make_pool = partial(FunctionPool, children=children, log=log)
        api = make_pool(environment.api(), concurrency=API_CONTAINERS)
        relay = make_pool(environment.relay(), concurrency=1)
        workers = Workers(
            environment, aws=aws, children=children, log=log, presence=state.workers, switches=Switches(state.switches)
        )
        checks = health.Checks(api, aws=aws, aws_endpoint_url=environment.aws_endpoint_url, presence=state.workers)
        tokens = token_issuer(secrets.signing_key)
        oncall = make_pool(environment.oncall(), concurrency=1)
        undo.callback(oncall.stop)
        answered = Answered()
        page = pages(
            undo,
            state,
            environment,
            # Past the functions' way: whoever breaks that wants to see what comes of it.
            database_url=postgres.dsn(user="app", password=secrets.app_password),
            url=self.url,
            tokens=tokens,
            secrets=secrets,
            oncall=oncall,
            missing=checks.missing,
            answered=answered,
            log=log,
        )
        gateway = Gateway(
            api,
            api=http_api(),
            tokens=tokens,
            missing=checks.missing,
            mails=checks.mails,
            page=page,
            waiting=[STATE],
            log=log,
            answered=answered,
        )
        gateway.serve(listener)
        undo.callback(gateway.stop)
        undo.callback(api.stop)
        api.start()
        if self._with_workers:
            undo.callback(workers.stop)
            workers.start_functions()

        database_up.result()
        self._irreplaceable["PostgreSQL"] = lambda: postgres.exit_code
        self._say(f"PostgreSQL is up on {LOOPBACK}:{postgres.port}.")
        migrations = make_pool(migrator(postgres.dsn()), concurrency=1)
        self._prepare_database(migrations, postgres.dsn(), secrets.app_password)
        aws_up.result()
        self._say(f"SQS and SES (moto) are up on {environment.aws_endpoint_url}.")
        gateway.open.set()
        if self._with_workers:
            workers.start()
        pools = [api, *(workers.pools.values() if self._with_workers else [])]
        self._wait_until_ready(pools, partial(checks.missing, with_workers=self._with_workers))
        state.announce(
            database_url=environment.database_url,
            aws_endpoint_url=environment.aws_endpoint_url,
            functions_endpoint_url=self._serve_invocations(undo, oncall, secrets),
        )
        undo.callback(state.withdraw)
        undo.callback(relay.stop)
        start_background_tasks(undo, relay, environment, state=state, log=log, say=self._say)

    def _serve_invocations(self, undo: contextlib.ExitStack, oncall: FunctionPool, secrets: Secrets) -> str:
        """Let the command line invoke the on-call function, whose container starts then; return the endpoint's URL."""
        invocations = Invocations({ONCALL: oncall}, secret_access_key=secrets.invocation_key, log=self._log)
        invocations.serve()
        undo.callback(invocations.stop)
        return invocations.url

    def _environment(
        self,
        undo: contextlib.ExitStack,
        children: Children,
        *,
        postgres: PostgresServer,
        aws_listener: socket.socket,
        secrets: Secrets,
    ) -> LocalEnvironment:
        """Return where the functions find things; the way to the database, which can be cut off, is open from now."""
        Switches(self._state.switches).all_off()
        listener = undo.enter_context(listen())
        environment = LocalEnvironment(
            database_url=postgres.dsn(user="app", password=secrets.app_password, port=int(listener.getsockname()[1])),
            aws_endpoint_url=f"http://{LOOPBACK}:{aws_listener.getsockname()[1]}",
            payment_gateway_url=payment_gateway_url(self._state.port),
            payment_gateway=self._payment_gateway,
        )
        process = start_database_proxy(
            children, listener, port=postgres.port, switches=self._state.switches, logs=self._state.logs
        )
        self._irreplaceable["The way to PostgreSQL"] = process.poll
        return environment

    def _start_aws(self, children: Children, listener: socket.socket, aws: AwsSession, secrets: Secrets) -> None:
        state = self._state
        process = start_aws(
            children, listener, mailbox=state.mailbox, switches=state.switches, files=state.files, logs=state.logs
        )
        self._irreplaceable["SQS and SES (moto)"] = process.poll
        try:
            aws_setup.prepare(aws, secrets)
        except (BotoCoreError, ClientError) as error:
            raise LocalSystemError(
                f"SQS and SES (moto) do not start ({type(error).__name__}): see {shown(self._state.logs)}/aws.log."
            ) from error

    def _prepare_database(self, migrations: FunctionPool, owner_url: str, app_password: str) -> None:
        """Migrate by the deployed migrator, then do what staff and operators would do."""
        try:
            migrations.invoke(b"{}", timeout=_TIMEOUT)
        except InvocationFailed as error:
            raise LocalSystemError(
                f"The database in {shown(self._state.folder)} cannot be migrated ({error}): {self._way_out()}"
            ) from error
        finally:
            migrations.stop()
        database = Database(StaticCredentials(owner_url))
        with database.connection() as conn:
            set_app_password(conn, app_password)
            add_products(conn, PRODUCTS)
            if again := publish_again(conn):
                self._say(f"Jobs of the last run that are published now: {again}.")
        database.close()

    def _wait_until_ready(self, pools: list[FunctionPool], missing: Callable[[], list[str]]) -> None:
        deadline = time.monotonic() + _TIMEOUT.total_seconds()
        pause_s = 0.02
        while parts := missing():
            if lost := self._lost():
                raise LocalSystemError(f"{lost}: see {shown(self._state.folder)}.")
            for pool in pools:
                if error := pool.start_error:
                    raise LocalSystemError(
                        f"The function {pool.name} does not start ({error}): "
                        f"see {shown(self._state.logs / pool.name)}.log."
                    )
            if time.monotonic() > deadline:
                raise LocalSystemError(f"Not ready after {_TIMEOUT.seconds} s: {', '.join(parts)}.")
            time.sleep(pause_s)
            pause_s = min(pause_s * 1.3, 1.0)

    def _lost(self) -> str | None:
        for name, exit_code in self._irreplaceable.items():
            if (code := exit_code()) is not None:
                return f"{name} ended ({f'signal {-code}' if code < 0 else f'exit code {code}'})"
        return None

    def _way_out(self) -> str:
        return f"`PORT={self._state.port} RESET=1 make run` begins with an empty one."


def _listen(port: int) -> socket.socket:
    try:
        return listen(port)
    except PortRefused as error:
        raise LocalSystemError(f"{error}: choose another one, as in `PORT={port + 1} make run`.") from None
