"""A cloud assembly at work: its functions and nothing else of ours, with moto as AWS and a PostgreSQL of its own."""

import base64
import contextlib
import json
import logging
import threading
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any
from wsgiref.types import WSGIApplication

import boto3
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from moto.ses.models import RawMessage, ses_backends
from werkzeug import Request, Response
from werkzeug.serving import WSGIRequestHandler, make_server

from emulator.aws import lock as aws_lock
from emulator.functions.function import FunctionDefinition
from emulator.functions.pool import FunctionPool
from emulator.log.logbook import LogBook
from emulator.postgres import PostgresServer
from emulator.processes.children import Children
from emulator.queues.event_source import EventSource
from emulator.settings import LOOPBACK, inherited_environment
from infra.stage import DEV
from skincare.deployment.queues import QueueName
from tests.artefact.calls import RecordedAws
from tests.artefact.runtime import INTERPRETER, make_runtime
from tests.infra.templates import ACCOUNT, REGION, Resource, Templates
from tests.support.webhooks import BODIES, SECRETS

TIMEOUT = timedelta(seconds=60)
NOBODY = "http://127.0.0.1:9"
"""Where gateways are that do not answer: a worker that asks reads the secret, and tries again later."""
STAGE = replace(
    DEV,
    payment_gateway="standard_webhooks",
    gateway_urls=dict.fromkeys(("standard_webhooks", "midtrans", "xendit"), NOBODY),
)
IDENTITY = STAGE.mail_domain


class Deployed:
    """The functions by their names in the template without the stage's prefix, such as worker-payments."""

    def __init__(
        self,
        templates: Templates,
        *,
        postgres: PostgresServer,
        aws: RecordedAws,
        endpoint: str,
        gateway_url: str,
        folder: Path,
    ) -> None:
        self.templates = templates
        self.aws = aws
        self._postgres = postgres
        self._endpoint = endpoint
        self._gateway_url = gateway_url
        self.runtime = folder / "runtime"
        for name in ("runtime", "children", "logs"):
            (folder / name).mkdir()
        make_runtime(self.runtime)
        self.log = LogBook(folder / "logs", None)
        self.children = Children(folder / "children")
        self.app_password = "of-the-role-app"
        self.pool = cache(self._start)
        self.stack = contextlib.ExitStack()

    def owner_dsn(self) -> str:
        return self._postgres.dsn(database="skincare")

    def invoke(self, name: str, event: object) -> Any:
        """Return a function's answer to an event; raises `InvocationFailed`."""
        return json.loads(self.pool(name).invoke(json.dumps(event).encode(), timeout=TIMEOUT))

    def client(self, service: Any, who: str = "tests") -> Any:
        """An SDK client that signs with the key of a function."""
        return boto3.session.Session(who, who, region_name=REGION).client(service, endpoint_url=self._endpoint)

    @contextlib.contextmanager
    def polling(self, queue: QueueName) -> Iterator[None]:
        """Let Lambda feed a worker from its queue, which it does in the name of the worker's role."""
        name = f"worker-{queue}"
        (source,) = [q for q in self._queues() if q.properties["QueueName"].endswith(f"-{queue}")]
        mapping = EventSource(
            self.client("sqs", name),
            self.pool(name),
            queue_url=self.queue_url(queue),
            queue_arn=f"arn:aws:sqs:{REGION}:{ACCOUNT}:{source.properties['QueueName']}",
            function_timeout=queue.limits.function_timeout,
            batch_size=queue.limits.batch_size,
            batch_window=queue.limits.batch_window,
            concurrency=1,
            log=self.log,
            longest_poll_s=1,
        )
        mapping.start()
        try:
            yield
        finally:
            mapping.stop()
            mapping.wait_for_batches()

    def queue_url(self, queue: QueueName, *, dead_letters: bool = False) -> str:
        return f"{self._endpoint}/{ACCOUNT}/skincare-{STAGE.name}-{queue}{'-dead-letters' if dead_letters else ''}"

    def definition(self, name: str, **environment: str) -> FunctionDefinition:
        """Return a function as the template describes it, with the addresses of this machine in its variables."""
        function = self.templates.function(name)
        properties = function.properties
        asset = self.templates.asset(properties["Code"]["S3Key"])
        layers = [self._layer(function, layer["Ref"]) for layer in function.raw["Properties"]["Layers"]]
        return FunctionDefinition(
            name=properties["FunctionName"],
            handler=properties["Handler"],
            timeout=timedelta(seconds=properties["Timeout"]),
            memory_mb=properties["MemorySize"],
            code=asset,
            interpreter=INTERPRETER,
            environment={
                **inherited_environment(),
                **self._here(name, properties["Environment"]["Variables"]),
                "AWS_ACCESS_KEY_ID": name,
                "AWS_SECRET_ACCESS_KEY": name,
                "AWS_REGION": REGION,
                "AWS_DEFAULT_REGION": REGION,
                "AWS_EC2_METADATA_DISABLED": "true",
                "AWS_ENDPOINT_URL": self._endpoint,
                "PYTHONPATH": ":".join(map(str, [asset, *(layer / "python" for layer in layers), self.runtime])),
                # Lambda's folders cannot be written to either.
                "PYTHONDONTWRITEBYTECODE": "1",
                **environment,
            },
        )

    def _here(self, name: str, variables: Mapping[str, str]) -> dict[str, str]:
        # There is no TLS on loopback, and so no login by token.
        here = {key: value for key, value in variables.items() if key != "DATABASE_IAM_AUTH"}
        for key, value in variables.items():
            if "QUEUE_URL_" in key:
                here[key] = f"{self._endpoint}/{ACCOUNT}/{value.rpartition('/')[2]}"
        if "GATEWAY_URL_STANDARD_WEBHOOKS" in here:
            here["GATEWAY_URL_STANDARD_WEBHOOKS"] = self._gateway_url
        host = f"{LOOPBACK}:{self._postgres.port}/skincare?sslmode=disable"
        login = "" if name == "migrator" else f"app:{self.app_password}@"
        return here | {"DATABASE_URL": f"postgresql://{login}{host}"}

    def _layer(self, function: Resource, logical_id: str) -> Path:
        versions = self.templates.of("AWS::Lambda::LayerVersion")
        (layer,) = [each for each in versions if (each.stack, each.logical_id) == (function.stack, logical_id)]
        return self.templates.asset(layer.properties["Content"]["S3Key"])

    def _start(self, name: str) -> FunctionPool:
        pool = FunctionPool(self.definition(name), children=self.children, log=self.log, concurrency=1)
        self.stack.callback(pool.stop)
        pool.start()
        return pool

    def _queues(self) -> list[Resource]:
        return self.templates.of("AWS::SQS::Queue")

    def create_resources(self, *, owner_secret: Mapping[str, str]) -> None:
        """Make what the Data stack would, by the template's own properties."""
        sqs = self.client("sqs")
        # Those that others name as their dead-letter queue first.
        for queue in sorted(self._queues(), key=lambda each: "RedrivePolicy" in each.properties):
            properties = queue.properties
            attributes = {
                key: json.dumps(properties[key]) if isinstance(properties[key], dict) else str(properties[key])
                for key in ("VisibilityTimeout", "MessageRetentionPeriod", "RedrivePolicy")
                if key in properties
            }
            sqs.create_queue(QueueName=properties["QueueName"], Attributes=attributes)
        secrets = self.client("secretsmanager")
        for variable, arn in self.templates.function("api").properties["Environment"]["Variables"].items():
            if variable.startswith("WEBHOOK_SECRET_ID_"):
                gateway = variable.removeprefix("WEBHOOK_SECRET_ID_").lower()
                content = json.dumps({"secrets": [SECRETS.get(gateway, "key-EXAMPLE")]})
                # moto takes the end of an ARN for the whole name.
                secrets.create_secret(Name=arn.rpartition(":")[2], SecretString=content)
        owner = self.templates.function("migrator").properties["Environment"]["Variables"]["DATABASE_SECRET_ID"]
        secrets.create_secret(Name=owner, SecretString=json.dumps(dict(owner_secret)))
        bucket = self.templates.function("api").properties["Environment"]["Variables"]["INVOICE_BUCKET"]
        self.client("s3").create_bucket(Bucket=bucket, CreateBucketConfiguration={"LocationConstraint": REGION})
        mail = self.client("sesv2")
        mail.create_email_identity(EmailIdentity=IDENTITY)
        (sets,) = self.templates.of("AWS::SES::ConfigurationSet")
        mail.create_configuration_set(ConfigurationSetName=sets.properties["Name"])


def mails() -> list[str]:
    """Return the mails that SES sent, each as its headers and its text."""
    sent = ses_backends[ACCOUNT][REGION].sent_messages
    return [_readable(message.raw_data) for message in sent if isinstance(message, RawMessage)]


def _readable(raw: str) -> str:
    import email
    from email import policy

    if not raw.lstrip().startswith(("From:", "MIME", "Subject:", "To:", "Date:", "Message")):
        with contextlib.suppress(ValueError):
            raw = base64.b64decode(raw).decode()
    message = email.message_from_string(raw, policy=policy.default)
    body = message.get_body(("plain",))
    return f"{message['To']}\n{message['Subject']}\n{body.get_content() if body else ''}"


@contextlib.contextmanager
def recorded_aws() -> Iterator[tuple[RecordedAws, str]]:
    """Run moto behind a record; yield the record and its URL."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    aws_lock.install()
    aws = RecordedAws(DomainDispatcherApplication(create_backend_app), identity=IDENTITY)
    with _serving(aws) as url:
        yield aws, url


@contextlib.contextmanager
def paying_gateway() -> Iterator[str]:
    """Run our own payment gateway, at which everything that is asked about was paid; yield its URL."""
    with _serving(_everything_is_paid) as url:
        yield url


@Request.application
def _everything_is_paid(request: Request) -> Response:
    if request.method == "POST":
        answer: dict[str, Any] = {"url": "https://pay.example.com/payment-1"}
        return Response(json.dumps(answer), 201, content_type="application/json")
    reference = request.path.split("/")[2]
    reported = {**BODIES["standard_webhooks"], "order_number": reference, "transaction_id": f"of-{reference}"}
    return Response(json.dumps({"transactions": [reported]}), content_type="application/json")


@contextlib.contextmanager
def _serving(app: WSGIApplication) -> Iterator[str]:
    server = make_server(LOOPBACK, 0, app, threaded=True, request_handler=_Quiet)
    thread = threading.Thread(target=server.serve_forever, args=(0.1,), daemon=True)
    thread.start()
    try:
        yield f"http://{LOOPBACK}:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Quiet(WSGIRequestHandler):
    disable_nagle_algorithm = True

    def log(self, type: str, message: str, *args: Any) -> None:
        """Say nothing."""
