"""What goes wrong on a developer's machine, in one sentence."""


class LocalSystemError(Exception):
    """The message is one sentence for the person at the terminal: what is wrong and what to do."""
