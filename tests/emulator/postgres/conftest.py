"""Each test has a folder of its own, in which a server of its own may run."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.scratch import scratch_folder


@pytest.fixture
def folder() -> Iterator[Path]:
    with scratch_folder() as scratch:
        folder = scratch / "postgres"
        folder.mkdir()
        folder.chmod(0o755)  # whatever the umask is: what closed folders do has tests of its own
        yield folder
