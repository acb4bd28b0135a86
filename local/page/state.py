"""What the page shows of the system, as JSON: orders, queues, jobs, dead letters, alarm indicators and switches."""

import threading
import time
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from botocore.exceptions import BotoCoreError, ClientError

from emulator.gateway.answered import Answered
from emulator.switches import Switches
from local.page.actions import shown_switches
from local.page.function_logs import FunctionLogs
from local.page.health import Health
from local.page.history import history_of
from local.page.indicators import Indicator, Observation, indicators
from local.page.repository import Backlog, OrderRow, count_jobs, newest_jobs, newest_orders, read_backlogs, read_only
from local.queues import queue_url
from local.workers import queues_without_worker
from skincare.adapters.aws import AwsSession, Timeouts
from skincare.customers.gauges import customer_gauges
from skincare.database.connection import Database, DatabaseUnavailable, StaticCredentials
from skincare.deployment.log_events import MAIL_STOPPED, WEBHOOK_REFUSED
from skincare.deployment.metrics import Metric
from skincare.deployment.queues import QueueName
from skincare.jobs.gauges import job_gauges, queue_gauges
from skincare.operations.conditions import DeadConditions
from skincare.operations.queries import Queries
from skincare.payments.gateways import GATEWAYS
from skincare.payments.gauges import payment_gauges

if TYPE_CHECKING:
    from types_boto3_sqs import SQSClient
    from types_boto3_sqs.literals import QueueAttributeNameType

_ORDERS = 40
_JOBS_PER_STATE = 25
_DEAD_JOBS = 50

_QUICK = Timeouts(connect=timedelta(seconds=1), read=timedelta(seconds=3))
_A_MINUTE = timedelta(minutes=1)
_FRESH_S = 0.5
"""Several open pages cost no more than one."""

_DEPTHS: "dict[str, QueueAttributeNameType]" = {
    "waiting": "ApproximateNumberOfMessages",
    "in_work": "ApproximateNumberOfMessagesNotVisible",
    "delayed": "ApproximateNumberOfMessagesDelayed",
}


class SystemState:
    """Looks at the database, the queues and the signs of life of the workers; changes nothing."""

    def __init__(
        self,
        database_url: str,
        *,
        aws: AwsSession,
        aws_endpoint_url: str,
        presence: Path,
        mailbox: Path,
        logs: Path,
        switches: Switches,
        health: Health,
        answered: Answered,
    ) -> None:
        self._database = Database(StaticCredentials(read_only(database_url)))
        self._aws = aws
        self._aws_endpoint_url = aws_endpoint_url
        self._presence = presence
        self._mailbox = mailbox
        self._logs = FunctionLogs(logs)
        self._switches = switches
        self._health = health
        self._answered = answered
        self._lock = threading.Lock()
        self._seen: dict[str, Any] = {}
        self._seen_at = -_FRESH_S

    def read(self) -> dict[str, Any]:
        """Return what there is now, at most half a second old.

        `health` names what `GET /health` misses, and with that customers; `missing` what does not answer us, and
        what would come from there is None. `mails_version` changes with each mail that is sent.
        """
        with self._lock:
            if time.monotonic() - self._seen_at >= _FRESH_S:
                self._seen = self._look()
                self._seen_at = time.monotonic()
            return self._seen

    def close(self) -> None:
        """Give the connection back."""
        self._database.close()

    def _look(self) -> dict[str, Any]:
        ledger, depths = self._ledger(), self._depths()
        unattended = queues_without_worker(self._presence)
        missing = [
            *(["database"] if ledger is None else []),
            *(["queues"] if depths is None else []),
            *(f"worker of {queue}" for queue in unattended),
        ]
        backlogs = {} if ledger is None else ledger.pop("backlogs")
        gauges = None if ledger is None else ledger.pop("gauges")
        of_queues = {} if ledger is None else ledger.pop("of_queues")
        queues = [
            {
                **_queue(queue, depths, None if ledger is None else backlogs.get(queue, _nothing_of(queue))),
                "has_worker": queue not in unattended,
            }
            for queue in QueueName
        ]
        nothing = {"orders": None, "jobs": None, "job_counts": None, "pauses": None, "dead": None}
        return {
            "at": _text(datetime.now(UTC)),
            "missing": missing,
            "health": self._health.missing(),
            "mails_version": self._mailbox.stat().st_size if self._mailbox.exists() else 0,
            "queues": queues,
            "lamps": [
                _shown_indicator(each) for each in indicators(self._observation(queues, backlogs, gauges, of_queues))
            ],
            "switches": shown_switches(self._switches),
            "gateways": [{"name": each.name, "title": each.title} for each in GATEWAYS.values()],
            **(ledger or nothing),
        }

    def _observation(
        self,
        queues: list[dict[str, Any]],
        backlogs: dict[str, Backlog],
        gauges: dict[Metric, float] | None,
        of_queues: dict[QueueName, dict[Metric, float]],
    ) -> Observation:
        logs = self._logs
        logs.look()
        depths = {queue["name"]: queue["dead_letters"] for queue in queues}
        explained = {queue: found[Metric.ACKNOWLEDGED_DEAD_JOBS] for queue, found in of_queues.items()}
        return Observation(
            dead_letters=(
                None
                if None in depths.values()
                else {name: max(depth - explained.get(name, 0), 0) for name, depth in depths.items()}
            ),
            unacknowledged=(
                None
                if gauges is None
                else {queue: found[Metric.UNACKNOWLEDGED_DEAD_JOBS] for queue, found in of_queues.items()}
            ),
            oldest_s=None if gauges is None else {name: found.oldest_sent_s or 0 for name, found in backlogs.items()},
            failed_items={queue: logs.failed_items(queue) for queue in QueueName},
            sending_stopped=logs.count(MAIL_STOPPED.event),
            webhooks_refused=logs.count(WEBHOOK_REFUSED.event),
            server_errors=self._answered.server_errors(within=_A_MINUTE),
            slowest_ms=self._answered.slowest_ms(),
            gauges=gauges,
        )

    def _ledger(self) -> dict[str, Any] | None:
        try:
            with self._database.connection() as conn:
                backlogs = {backlog.queue: backlog for backlog in read_backlogs(conn)}
                counts = count_jobs(conn)
                jobs = newest_jobs(conn, per_state=_JOBS_PER_STATE)
                orders = newest_orders(conn, limit=_ORDERS)
            gauges = {
                **job_gauges(self._database),
                **payment_gauges(self._database),
                **customer_gauges(self._database),
            }
            of_queues = queue_gauges(self._database)
            queries = Queries(self._database)
            paused = queries.pauses().pauses
            dead = queries.list_dead()
            dead_jobs = queries.find_dead(DeadConditions(), after=None, limit=_DEAD_JOBS).jobs
        except DatabaseUnavailable:
            return None
        return {
            "backlogs": backlogs,
            "gauges": gauges,
            "of_queues": of_queues,
            "orders": [_order(order) for order in orders],
            "jobs": [_texts(asdict(job)) for job in jobs],
            "job_counts": counts,
            "pauses": [_texts(asdict(pause)) for pause in paused],
            "dead": {
                "groups": [_texts(asdict(group)) for group in dead.groups],
                "acknowledged": [_texts(asdict(group)) for group in dead.acknowledged],
                "jobs": [_texts(asdict(job)) for job in dead_jobs],
                "quarantined": [_texts(asdict(message)) for message in dead.quarantined],
            },
        }

    def _depths(self) -> dict[str, dict[str, int]] | None:
        """Return the approximate numbers of messages by queue, dead-letter queues included."""
        sqs = self._aws.client("sqs", _QUICK)
        depths = {}
        try:
            for queue in QueueName:
                url = queue_url(self._aws_endpoint_url, queue)
                depths[queue.value] = _depth(sqs, url)
                depths[_dead_letters_of(queue)] = _depth(sqs, f"{url}-dead-letters")
        except (BotoCoreError, ClientError):
            return None
        return depths


def _depth(sqs: "SQSClient", url: str) -> dict[str, int]:
    found = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=list(_DEPTHS.values()))["Attributes"]
    return {word: int(found[attribute]) for word, attribute in _DEPTHS.items()}


def _nothing_of(queue: QueueName) -> Backlog:
    return Backlog(queue, oldest_s=None, oldest_sent_s=None, dead=0, oldest_dead_s=None)


def _queue(queue: QueueName, depths: dict[str, dict[str, int]] | None, backlog: Backlog | None) -> dict[str, Any]:
    """Return the depth as SQS tells it, and the ages and the dead as the ledger knows them.

    `dead_letters` are those that SQS was given, which is up to a minute later than `dead`, the ledger's.
    """
    unknown: dict[str, int | None] = dict.fromkeys(_DEPTHS)
    dead_letters = None if depths is None else depths[_dead_letters_of(queue)]
    return {
        "name": queue.value,
        **(unknown if depths is None else depths[queue.value]),
        "oldest_s": backlog.oldest_s if backlog else None,
        "dead_letters": None if dead_letters is None else dead_letters["waiting"] + dead_letters["in_work"],
        "dead": None if backlog is None else backlog.dead,
        "oldest_dead_s": backlog.oldest_dead_s if backlog else None,
    }


def _dead_letters_of(queue: QueueName) -> str:
    return f"{queue}-dead-letters"


def _order(order: OrderRow) -> dict[str, Any]:
    return {
        "order_number": order.order_number,
        "status": order.status,
        "email": order.email,
        "locale": order.locale,
        "total_rupiah": order.total_rupiah,
        "created_at": _text(order.created_at),
        "items": order.items,
        "timeline": [_texts(asdict(step)) for step in history_of(order)],
    }


def _texts(row: dict[str, Any]) -> dict[str, Any]:
    return {name: _plain(value) for name, value in row.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return _texts(value)
    return _text(value) if isinstance(value, datetime) else value


def _text(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _shown_indicator(indicator: Indicator) -> dict[str, Any]:
    shown = asdict(indicator)
    shown["lit"] = shown.pop("firing")
    return shown
