"""pgbench calling the checkout's own statement: what PostgreSQL can do when its client costs next to nothing."""

import re
import subprocess
from datetime import timedelta
from pathlib import Path
from urllib.parse import unquote, urlsplit

from bench.rounds import Stalled
from bench.shop import checkout_statement
from emulator.postgres.binaries import wheel_folder
from skincare.identifiers import UserId

RATE = re.compile(r"^tps = ([0-9.]+) \(without initial connection time\)", re.MULTILINE)

# What the server computes here and our client in Python: the cost of it counts against neither by much.
_EXPRESSIONS = {
    "user_id": "'{prefix}-' || :client_id || '-' || :n",
    "key": "'{prefix}-' || :client_id || '-' || :n",
    "order_number": "'SKN-' || lpad(:client_id, 2, '0') || '{tag}' || '-' || lpad(:n, 5, '0')",
}
_ID = "uuidv7()"


def script(prefix: str, tag: str) -> str:
    """Return a pgbench script that checks out the carts of `prefix`; `tag` has three characters of 0-9A-Z."""
    statement = checkout_statement(UserId("nobody"))

    def expression(match: re.Match[str]) -> str:
        name = match[1]
        if name in _EXPRESSIONS:
            return _EXPRESSIONS[name].format(prefix=prefix, tag=tag)
        if name in statement.ids:
            return _ID
        return literal(statement.parameters[name])

    sql = " ".join(re.sub(r"%\((\w+)\)s", expression, statement.sql).split())
    return f"\\set n :n + 1\n{sql};\n"


def literal(value: object) -> str:
    """Return a value as SQL text; raises `TypeError` for a kind that no statement here has."""
    match value:
        case None:
            return "NULL"
        case bytes():
            return f"'\\x{value.hex()}'::bytea"
        case bool() | int():
            return str(value)
        case timedelta():
            return f"'{value.total_seconds()} seconds'::interval"
        case str():
            return "'" + value.replace("'", "''") + "'"
        case _:
            raise TypeError(f"pgbench is given no {type(value).__name__}")


def rate(output: str) -> float:
    """Return the transactions per second that pgbench reports; raises `ValueError` where it reports none."""
    found = RATE.search(output)
    if found is None:
        raise ValueError("pgbench reports no rate")
    return float(found[1])


def check_out(url: str, folder: Path, *, prefix: str, tag: str, clients: int, each: int) -> float:
    """Check the carts out with prepared statements; return checkouts per second without the time to connect.

    Raises `Stalled` where they are not done within five minutes, `RuntimeError` where one fails or is refused.
    """
    file = folder / f"{prefix}.sql"
    file.write_text(script(prefix, tag))
    parts = urlsplit(url)
    command = [
        str(wheel_folder() / "pgbench"),
        "--no-vacuum",
        "--protocol=prepared",
        f"--file={file}",
        f"--client={clients}",
        f"--jobs={min(clients, 2)}",
        f"--transactions={each}",
        "--define=n=0",
        f"--host={parts.hostname}",
        f"--port={parts.port}",
        f"--username={parts.username}",
        parts.path[1:],
    ]
    try:
        done = subprocess.run(
            command,
            env={"PGPASSWORD": unquote(parts.password or "")},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise Stalled("pgbench was not done within five minutes") from None
    if done.returncode != 0 or "number of failed transactions: 0 " not in done.stdout:
        raise RuntimeError(f"pgbench failed: {done.stderr.strip()[-500:]}")
    return rate(done.stdout)
