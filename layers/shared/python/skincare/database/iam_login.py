"""Lets the role `app` log in with tokens of IAM where the server is one of RDS."""

import psycopg


def allow_iam_login(conninfo: str) -> bool:
    """Grant it as the database's owner; False where the server knows no such login, as every one outside RDS.

    May be called again. A role that has it is asked for a token instead of a password from then on.
    """
    with psycopg.connect(conninfo, autocommit=True) as conn:
        if conn.execute("SELECT FROM pg_roles WHERE rolname = 'rds_iam'").fetchone() is None:
            return False
        conn.execute("GRANT rds_iam TO app")
        return True
