"""The log of a command on its terminal: times and text as people on call read them everywhere."""

import sys
from pathlib import Path

from emulator.log.logbook import LogBook
from skincare import moments
from skincare.text import escaped


def log_book(folder: Path) -> LogBook:
    """Return a log that writes its files into `folder`."""
    return LogBook(folder, sys.stdout, clock=moments.shown, fit=escaped)
