"""What goes wrong with the database server."""


class PostgresFailed(Exception):
    """The database server cannot run; the message is one sentence for the person at the terminal."""
