"""`python -m local run | api | worker | demo`: the local system from the command line."""

import contextlib
import os
import signal
import sys

from emulator.processes.children import end_with_parent
from emulator.settings import forget_aws_account
from local.errors import LocalSystemError
from local.settings import LocalSettings


def main(arguments: list[str]) -> int:
    """Run one command; return the exit code."""
    try:
        settings = LocalSettings.from_env()
        forget_aws_account()
        if settings.stop_with_parent:
            end_with_parent(signal.SIGTERM)
        return _command(arguments, settings)
    except LocalSystemError as error:
        sys.stderr.write(f"{error}\n")
        return 1


def _command(arguments: list[str], settings: LocalSettings) -> int:
    # Each imports what it needs only.
    match arguments:
        case ["run" | "api" as command]:
            from local.run import run

            return run(settings, with_workers=command == "run")
        case ["worker"]:
            from local.worker import work

            return work(settings)
        case ["demo"]:
            from local.demo import demo

            return demo()
    sys.stderr.write("usage: python -m local run | api | worker | demo\n")
    return 2


if __name__ == "__main__":
    code = main(sys.argv[1:])
    with contextlib.suppress(OSError):
        sys.stdout.flush()
    # Not sys.exit: threads that still wait for a socket may not delay or disturb the end.
    os._exit(code)
