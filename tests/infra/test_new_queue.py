"""A queue is added in one place: tried in a copy of the tree."""

import json
from pathlib import Path

from tests.infra.templates import Templates
from tests.support.copied_tree import run

SHOWN = """
import json
from local.page.indicators import Observation, indicators
from skincare.deployment.functions import worker
from skincare.deployment.queues import QueueName
seen = Observation(
    dead_letters={},
    unacknowledged={},
    oldest_s={},
    failed_items={},
    sending_stopped=0,
    webhooks_refused=0,
    server_errors=0,
    slowest_ms=0,
    gauges={},
)
print(json.dumps({"lamps": [each.name for each in indicators(seen)], "memory": worker(QueueName("stock")).memory_mb}))
"""


def test_is_deployed_with_its_worker_and_its_alarms(grown: Templates) -> None:
    names = {queue.properties.get("QueueName") for queue in grown.of("AWS::SQS::Queue")}
    assert {"skincare-dev-stock", "skincare-dev-stock-dead-letters"} <= names
    assert grown.function("worker-stock").properties["Environment"]["Variables"]["WORKER_QUEUE"] == "stock"
    alarms = {alarm.properties["AlarmName"]: alarm for alarm in grown.of("AWS::CloudWatch::Alarm")}
    for name in ("dead-letters-stock", "queue-age-stock", "items-failed-stock"):
        assert any(each.endswith(name) for each in alarms), sorted(alarms)
    text = json.dumps([dict(alarm.properties) for alarm in alarms.values()])
    assert "Customers see stock that is not there." in text


def test_is_shown_by_the_local_page(tree: Path) -> None:
    shown = json.loads(run(tree, SHOWN))
    assert "dead-letters-stock" in shown["lamps"]
    assert shown["memory"] == 512
