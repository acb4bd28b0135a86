"""One dashboard, read from the top: what customers meet, then jobs and money, then what these stand on."""

import aws_cdk as cdk
from aws_cdk import aws_apigatewayv2 as apigw
from aws_cdk import aws_cloudwatch as cw
from constructs import Construct

from infra.data import DataStack
from infra.function import function_name
from infra.metrics import by_dimension, function_metric, log_metric, shop_metric
from infra.stage import Stage
from skincare.deployment import log_events
from skincare.deployment.functions import FUNCTIONS, Trigger
from skincare.deployment.metrics import Metric

_WIDTH = 24


class Dashboard(Construct):
    """A row per question; the first row that looks wrong is where to begin."""

    def __init__(
        self, scope: Construct, construct_id: str, *, stage: Stage, data: DataStack, http: apigw.HttpApi
    ) -> None:
        super().__init__(scope, construct_id)
        name = f"skincare-{stage.name}"
        dashboard = cw.Dashboard(self, "Dashboard", dashboard_name=name, default_interval=cdk.Duration.hours(6))
        for title, widgets in (
            ("Do customers get answers?", _customers(http)),
            ("Is what they ordered done?", _jobs(stage)),
            ("Is their money where it belongs?", _payments(stage)),
            ("Do queues drain?", _queues(data)),
            ("Do functions run?", _functions(stage)),
            ("Does the database keep up?", _database(data)),
        ):
            dashboard.add_widgets(cw.TextWidget(markdown=f"## {title}", width=_WIDTH, height=1))
            dashboard.add_widgets(*widgets)
        stack = cdk.Stack.of(self)
        console = f"https://{stack.region}.console.aws.amazon.com/cloudwatch/home?region={stack.region}"
        self.url = f"{console}#dashboards/dashboard/{name}"


def _graph(title: str, *metrics: cw.IMetric, width: int = 8) -> cw.GraphWidget:
    return cw.GraphWidget(title=title, left=list(metrics), width=width, height=6)


def _customers(http: apigw.HttpApi) -> list[cw.GraphWidget]:
    return [
        _graph("Requests", http.metric_count(label="requests")),
        _graph("Refused and failed", http.metric_client_error(label="4xx"), http.metric_server_error(label="5xx")),
        _graph(
            "Latency, ms",
            http.metric_latency(statistic="p50", label="p50"),
            http.metric_latency(statistic="p99", label="p99"),
        ),
    ]


def _jobs(stage: Stage) -> list[cw.GraphWidget]:
    return [
        _graph("Jobs completed", by_dimension(stage, Metric.JOBS_COMPLETED, "JobType", statistic="Sum"), width=6),
        _graph(
            "Jobs retried and dead",
            by_dimension(stage, Metric.JOBS_RETRIED, "JobType", statistic="Sum"),
            by_dimension(stage, Metric.JOBS_DEAD, "JobType", statistic="Sum"),
            width=6,
        ),
        _graph("From due to done, s", by_dimension(stage, Metric.QUEUE_DELAY, "JobType", statistic="p99"), width=6),
        _graph(
            "Outbox lateness, s; dead and paused jobs",
            shop_metric(stage, Metric.OUTBOX_LATENESS, statistic="Maximum", label="lateness"),
            shop_metric(stage, Metric.DEAD_JOBS, statistic="Maximum", label="dead"),
            shop_metric(stage, Metric.PAUSED_JOBS, statistic="Maximum", label="paused"),
            by_dimension(stage, Metric.UNACKNOWLEDGED_DEAD_JOBS, "Queue", statistic="Maximum"),
            width=6,
        ),
    ]


def _payments(stage: Stage) -> list[cw.GraphWidget]:
    return [
        _graph(
            "Events that changed nothing yet",
            shop_metric(stage, Metric.UNAPPLIED_PAYMENT_EVENTS, statistic="Maximum", label="unapplied"),
            shop_metric(stage, Metric.QUARANTINED_PAYMENT_EVENTS, statistic="Maximum", label="quarantined"),
        ),
        _graph(
            "Money that does not fit",
            shop_metric(stage, Metric.OPEN_PAYMENT_ANOMALIES, statistic="Maximum", label="open"),
        ),
        _graph("Webhooks refused", log_metric(stage, log_events.WEBHOOK_REFUSED)),
        _graph(
            "Events that were not what they said",
            shop_metric(stage, Metric.CORRECTED_PAYMENT_EVENTS, statistic="Maximum", label="corrected"),
            log_metric(stage, log_events.PAYMENT_EVENT_IGNORED),
        ),
        _graph("Gateways that do not let us in", log_metric(stage, log_events.GATEWAY_MISCONFIGURED)),
    ]


def _queues(data: DataStack) -> list[cw.GraphWidget]:
    queues = data.queues.values()
    return [
        _graph("Waiting", *(q.source.metric_approximate_number_of_messages_visible(label=q.name) for q in queues)),
        _graph("Oldest message, s", *(q.source.metric_approximate_age_of_oldest_message(label=q.name) for q in queues)),
        _graph(
            "Dead letters",
            *(
                q.dead_letters.metric_approximate_number_of_messages_visible(statistic="Maximum", label=q.name)
                for q in queues
            ),
        ),
    ]


def _functions(stage: Stage) -> list[cw.GraphWidget]:
    names = [function.name for function in FUNCTIONS if function.trigger is not Trigger.DEPLOY]

    def graph(title: str, metric: str, statistic: str) -> cw.GraphWidget:
        return _graph(
            title,
            *(function_metric(function_name(stage, name), metric, statistic=statistic, label=name) for name in names),
            width=6,
        )

    return [
        graph("Errors", "Errors", "Sum"),
        graph("Throttles", "Throttles", "Sum"),
        graph("Longest call, ms", "Duration", "Maximum"),
        graph("Containers", "ConcurrentExecutions", "Maximum"),
    ]


def _database(data: DataStack) -> list[cw.GraphWidget]:
    database = data.database
    pinned = database.proxy_metric("DatabaseConnectionsCurrentlySessionPinned", "Maximum")
    return [
        _graph("CPU, %", database.metric("CPUUtilization", "Average")),
        _graph("Connections", database.metric("DatabaseConnections", "Maximum"), *([pinned] if pinned else [])),
        _graph("Free storage, bytes", database.metric("FreeStorageSpace", "Minimum")),
    ]
