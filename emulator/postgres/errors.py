"""What goes wrong with the database server."""


class PostgresFailed(Exception):
    """The database server cannot run; the message is one sentence for the person at the terminal."""


class DataDamaged(PostgresFailed):
    """The server cannot run on the data that is there; it could on an empty folder."""
