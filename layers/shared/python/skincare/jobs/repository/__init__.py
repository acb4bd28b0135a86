"""The ledger's SQL, one file per concern. docs/job-lifecycle.md tells why each condition is there.

Every statement names the states it expects and returns what it hit; zero rows is normal. Rows are
locked in the order of their ids wherever a statement may wait for them.
"""

from psycopg.sql import SQL

LONGEST_REASON = 1000
"""Characters of an error message that are kept."""

DIES = SQL("""
    state = 'dead_letter', publish_at = now(), dead_letter_no = j.dead_letter_no + 1, retry_at = NULL,
    lease_token = NULL, leased_at = NULL, lease_until = NULL,
    first_failed_at = coalesce(j.first_failed_at, now()), last_failed_at = now()""")
"""What an UPDATE of `jobs j` sets when a job dies, whoever finds it dead; the error's class and message come on top."""
