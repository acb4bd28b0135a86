"""Years that pass in a database, and rows that are about to have had their time."""

from datetime import timedelta

from psycopg import Connection
from psycopg.sql import SQL, Identifier

from skincare.database.connection import Database
from skincare.retention.models import Pruned
from skincare.retention.service import prune

AGES = timedelta(days=29_000)
"""Longer than anything is kept that goes, and within what PostgreSQL calls a hundred years."""


def let_years_pass(owner: Connection, time: timedelta) -> None:
    """Make every row as much older: to the database it is as if its clock had moved on, or back.

    The schedule of jobs follows them by itself.
    """
    columns = owner.execute("""
        SELECT c.table_name, array_agg(c.column_name::text) FROM information_schema.columns c
        JOIN pg_tables t ON t.tablename = c.table_name AND t.schemaname = c.table_schema
        WHERE c.table_schema = 'public' AND c.data_type LIKE 'timestamp%'
            AND c.table_name NOT LIKE 'schema\\_%' AND c.table_name <> 'job_schedule'
        GROUP BY c.table_name""").fetchall()
    for table, names in columns:
        changes = SQL(", ").join(SQL("{0} = {0} - %(time)s").format(Identifier(name)) for name in names)
        owner.execute(SQL("UPDATE {} SET {}").format(Identifier(table), changes), {"time": time})


def prune_all(database: Database) -> Pruned:
    """Remove all that has had its time."""
    pruned = prune(database, time_left=lambda: timedelta(minutes=1), within_s=60)
    assert pruned is not None
    return pruned
