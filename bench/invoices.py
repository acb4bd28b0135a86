"""Invoices: how many a documents worker makes per second, and how much memory it takes for them."""

import re
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime, timedelta
from multiprocessing import get_context
from pathlib import Path
from statistics import median

from bench.environment import BenchDatabase, BenchEnvironment, Effort, NotMeasured
from bench.figure import Figure
from bench.rounds import ratios
from bench.shop import fill_carts, open_shop, place, settle_down, user
from bench.shopfront import logs_discarded
from bench.worker import SlowProvider, make_worker
from skincare.deployment.queues import QueueName
from skincare.identifiers import OrderNumber, Sku
from skincare.invoices import repository
from skincare.invoices.models import Invoice, InvoiceLine, Seller
from skincare.invoices.service import keep_file
from skincare.jobs.catalog import GenerateInvoicePdf
from skincare.jobs.envelope import Envelope
from skincare.jobs.ports import ReceivedMessage
from skincare.jobs.repository import outbox
from skincare.locales import Locale

_SELLER = Seller("PT Contoh Skincare", "Jalan Contoh No. 1\nJakarta 12345", "00.000.000.0-000.000", 11)
# getrusage would tell the highest memory of whoever started the process, too.
_STATUS = Path("/proc/self/status")


class MessageStore:
    """An `ObjectStore` that keeps nothing but a count: the network is not what is measured."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.kept = 0

    def put_if_absent(self, key: str, content: bytes, *, content_type: str) -> bool:  # noqa: ARG002  the port's shape
        with self._lock:
            self.kept += 1
        return True

    def link(self, key: str, *, filename: str, expires_in: timedelta) -> str:
        raise NotImplementedError


def measure(bench: BenchEnvironment, effort: Effort) -> Iterator[Figure]:
    """Batches through the worker of the documents queue beside drawing alone; and the memory of a process."""
    limits = QueueName.DOCUMENTS.limits
    size, rounds = effort.times(40), effort.rounds + 1
    with bench.database() as database, logs_discarded():
        open_shop(database.owner)
        store = MessageStore()
        worker = make_worker(database.url, limits, email=SlowProvider(0), files=store)
        batches = [_paid_orders(database, f"invoices-{turn}", size) for turn in range(rounds)]
        settle_down(database.owner)
        jobs: list[float] = []
        drawings: list[float] = []
        for messages in batches:
            kept = store.kept
            started = time.perf_counter()
            for first in range(0, size, limits.batch_size):
                batch = messages[first : first + limits.batch_size]
                worker.worker.run(batch, time_left=lambda: timedelta(seconds=80))
            jobs.append((time.perf_counter() - started) / size)
            if store.kept - kept != size:
                raise RuntimeError(f"{store.kept - kept} of {size} invoices were made")
            drawings.append(_draw(size) / size)
        worker.close()
    # The first round imports the library and reads the fonts.
    jobs, drawings = jobs[1:], drawings[1:]
    yield Figure(
        "invoices.per-second",
        "invoices per second, from message to row, one container of the documents worker",
        [1 / seconds for seconds in jobs],
        unit="per s",
        parts={"job (ms)": median(jobs) * 1000, "drawing (ms)": median(drawings) * 1000},
    )
    yield Figure("invoices.job", "an invoice's whole job ÷ drawing the same invoice", ratios(jobs, drawings))
    if not _STATUS.exists():
        raise NotMeasured("the memory of a process is read from /proc, which this system has not")
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as other:
        before, after = other.submit(_memory_mb, effort.times(200)).result()
    yield Figure(
        "invoices.memory",
        "highest memory of a process that draws invoices, of which reportlab and the fonts",
        [after],
        unit="MB",
        parts={"before the first (MB)": before, "for drawing (MB)": after - before},
    )


def _paid_orders(database: BenchDatabase, prefix: str, size: int) -> Sequence[ReceivedMessage]:
    """Place and pay orders; return their invoices' jobs as the queue would deliver them."""
    fill_carts(database.owner, prefix, clients=1, each=size)
    messages = []
    for number in range(1, size + 1):
        customer = user(prefix, 0, number)
        place(database.owner, customer)
        row = database.owner.execute(
            "UPDATE orders SET status = 'paid', paid_at = now() WHERE user_id = %s RETURNING id, order_number",
            [customer],
        ).fetchone()
        assert row is not None
        payload = GenerateInvoicePdf(order_number=row[1])
        (job,) = outbox.insert_all(database.owner, [payload], order_number=row[1], request_id=None)
        repository.take_number(database.owner, row[0])
        body = Envelope(job.job_id, job.job_type, job.payload, None).encode()
        messages.append(ReceivedMessage(f"m-{job.job_id}", f"r-{job.job_id}", body))
    return messages


def _draw(times: int) -> float:
    """Draw an invoice of one line, as the bench's orders have, so many times; return the seconds."""
    line = InvoiceLine(Sku("SKU-0001"), "Product 1", 1, 150_000)
    invoice = Invoice(
        order_id=1,
        number="INV/2026/000001",
        version=1,
        issued_at=datetime(2026, 1, 15, tzinfo=UTC),
        order_number=OrderNumber("SKN-00000-00001"),
        paid_at=datetime(2026, 1, 15, tzinfo=UTC),
        locale=Locale.ID,
        total_rupiah=150_000,
        lines=(line,),
        email="buyer@example.com",
        recipient_name=None,
        shipping_address=None,
        is_made=False,
    )
    started = time.perf_counter()
    for _ in range(times):
        keep_file(invoice, files=MessageStore(), seller=_SELLER)
    return time.perf_counter() - started


def _memory_mb(times: int) -> tuple[float, float]:
    """Return the highest memory of this process before and after drawing."""
    before = _highest_mb()
    with logs_discarded():
        _draw(times)
    return before, _highest_mb()


def _highest_mb() -> float:
    found = re.search(r"^VmHWM:\s+(\d+) kB", _STATUS.read_text(), flags=re.MULTILINE)
    assert found is not None
    return int(found[1]) / 1024
