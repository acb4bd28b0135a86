"""A queue is added in one place: tried in a copy of the tree."""

import json
from pathlib import Path

import pytest

from tests.infra.templates import Templates
from tests.support.copied_tree import SYNTHESIZE, copied_tree, run

MEMBER = """    STOCK = (
        "stock",
        QueueLimits(
            batch_size=10,
            batch_window=timedelta(0),
            threads=2,
            handler_limit=timedelta(seconds=10),
            function_timeout=timedelta(seconds=90),
            maximum_concurrency=2,
            database_connections=1,
            impact="Customers see stock that is not there.",
        ),
    )

"""
SHOWN = """
import json
from local.page.indicators import Observation, indicators
from skincare.deployment.functions import worker
from skincare.deployment.queues import QueueName
seen = Observation(
    dead_letters={},
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


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the product whose only change is one more member."""
    copy = copied_tree(tmp_path_factory.mktemp("tree-"))
    queues = copy / "layers/shared/python/skincare/deployment/queues.py"
    before, mark, after = queues.read_text().partition("\nMAX_RECEIVE_COUNT")
    queues.write_text(before.rstrip() + "\n" + MEMBER + mark + after)
    return copy


def test_is_deployed_with_its_worker_and_its_alarms(tree: Path, tmp_path: Path) -> None:
    run(tree, SYNTHESIZE, str(tmp_path))
    templates = Templates(tmp_path)
    names = {queue.properties.get("QueueName") for queue in templates.of("AWS::SQS::Queue")}
    assert {"skincare-dev-stock", "skincare-dev-stock-dead-letters"} <= names
    assert templates.function("worker-stock").properties["Environment"]["Variables"]["WORKER_QUEUE"] == "stock"
    alarms = {alarm.properties["AlarmName"]: alarm for alarm in templates.of("AWS::CloudWatch::Alarm")}
    for name in ("dead-letters-stock", "queue-age-stock", "items-failed-stock"):
        assert any(each.endswith(name) for each in alarms), sorted(alarms)
    text = json.dumps([dict(alarm.properties) for alarm in alarms.values()])
    assert "Customers see stock that is not there." in text


def test_is_shown_by_the_local_page(tree: Path) -> None:
    shown = json.loads(run(tree, SHOWN))
    assert "dead-letters-stock" in shown["lamps"]
    assert shown["memory"] == 512
