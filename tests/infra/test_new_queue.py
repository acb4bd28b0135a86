"""A queue is added in one place: tried in a copy of the tree."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.tree import ROOT, tracked_files
from tests.infra.templates import Templates

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
            hurts="Customers see stock that is not there.",
        ),
    )

"""
SYNTHESIZE = """
import sys
from pathlib import Path
from infra.node import use_our_node
from infra.stage import STAGES
use_our_node()
from infra.app import make_app
make_app(STAGES["dev"], outdir=Path(sys.argv[1]), code=False, rules=False, validation=False).app.synth()
"""
SHOWN = """
import json
from local.page.lamps import Seen, lamps
from skincare.deployment.functions import worker
from skincare.deployment.queues import QueueName
seen = Seen(
    dead_letters={},
    oldest_s={},
    failed_items={},
    sending_stopped=0,
    webhooks_refused=0,
    server_errors=0,
    slowest_ms=0,
    gauges={},
)
print(json.dumps({"lamps": [lamp.name for lamp in lamps(seen)], "memory": worker(QueueName("stock")).memory_mb}))
"""


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the product whose only change is one more member."""
    copy = tmp_path_factory.mktemp("tree-")
    for name in tracked_files():
        if not name.startswith(("tests/", "docs/images/", "bench/")):
            target = copy / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, target)
    (copy / ".venv").symlink_to(ROOT / ".venv")
    queues = copy / "layers/shared/python/skincare/deployment/queues.py"
    before, mark, after = queues.read_text().partition("\nMAX_RECEIVE_COUNT")
    queues.write_text(before.rstrip() + "\n" + MEMBER + mark + after)
    return copy


def run(tree: Path, script: str, *words: str) -> str:
    """Run a script in the copy, with nothing of the original on its path."""
    path = ":".join(str(tree / folder) for folder in ("", "functions", "layers/shared/python"))
    done = subprocess.run(
        [sys.executable, "-c", script, *words],
        cwd=tree,
        env={"PYTHONPATH": path, "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", "HOME": str(tree)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


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
