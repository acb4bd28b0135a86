"""A new database cluster: what initdb makes, and the cached template that volatile servers start from."""

import hashlib
from pathlib import Path

from emulator.postgres.account import ENVIRONMENT, give_to_server, run
from emulator.postgres.binaries import Binaries
from emulator.postgres.storage import cached, complete_or_absent

HOST = "127.0.0.1"
SUPERUSER = "postgres"

INITDB_OPTIONS = [f"--username={SUPERUSER}", "--auth=reject", "--encoding=UTF8", "--locale=C.UTF-8"]
ACCESS = f"host all all {HOST}/32 scram-sha-256\n"
"""The whole pg_hba.conf. A new superuser has no password, so nobody enters before we have set one."""

VOLATILE_INITDB_OPTIONS = ["--no-sync", "--wal-segsize=1"]


def create_cluster(data: Path, binaries: Binaries, *, durable: bool) -> None:
    """Create a cluster in `data`, which does not exist yet; nobody may enter it. Raises PostgresFailed."""
    with complete_or_absent(data) as building:
        if durable:
            initdb(building, binaries, [])
        else:
            give_to_server(building)
            # By cp under the server's account: it owns the thousand copies without a chown each.
            run(["cp", "-R", f"{_template(binaries)}/.", str(building)])


def initdb(building: Path, binaries: Binaries, options: list[str]) -> None:
    """Fill an empty folder of ours with a cluster, and give it to the server's account."""
    give_to_server(building)
    run([str(binaries.folder / "initdb"), f"--pgdata={building}", *INITDB_OPTIONS, *options])
    (building / "pg_hba.conf").write_text(ACCESS)


def _template(binaries: Binaries) -> Path:
    """Return the cached new cluster that a volatile server starts from; it has no password at all."""
    recipe = hashlib.sha256(repr((INITDB_OPTIONS, VOLATILE_INITDB_OPTIONS, ACCESS, ENVIRONMENT)).encode()).hexdigest()[
        :8
    ]
    return cached(
        f"template-{binaries.version}-{recipe}",
        lambda building: initdb(building, binaries, VOLATILE_INITDB_OPTIONS),
    )
