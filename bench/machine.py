"""The machine and the versions that figures belong to."""

import os
import platform
import shutil
import subprocess
from importlib.metadata import version
from pathlib import Path
from statistics import median
from time import perf_counter

from emulator.postgres.binaries import wheel_folder

_PACKAGES = ("psycopg", "pydantic", "aws-lambda-powertools", "boto3", "awslambdaric", "jinja2")


def describe_machine(folder: Path) -> dict[str, str]:
    """Return what a reader needs to judge the figures; `folder` lies on the disk that the database will use."""
    return {
        "processor": _processor(),
        "cores": str(os.cpu_count()),
        "memory": f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB",
        "system": platform.platform(terse=True),
        "flush": f"{_flush_ms(folder):.2f} ms",
        "python": platform.python_version(),
        "postgresql": _said([str(wheel_folder() / "postgres"), "--version"]),
        "redis": _said(["redis-server", "--version"]) if shutil.which("redis-server") else "absent",
        **{name: version(name) for name in _PACKAGES},
    }


def _flush_ms(folder: Path) -> float:
    """Return the median time of a small durable write: what each commit waits for, and a row's lock with it."""
    file = folder / "flush"
    times = []
    with file.open("wb", buffering=0) as stream:
        for _ in range(30):
            stream.seek(0)
            stream.write(bytes(8192))
            started = perf_counter()
            os.fsync(stream.fileno())
            times.append((perf_counter() - started) * 1000)
    file.unlink()
    return median(times)


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


def _said(command: list[str]) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
