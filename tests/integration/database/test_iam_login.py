"""The migrator lets the role of the functions log in with tokens, where the server is one of RDS."""

from collections.abc import Iterator

import psycopg
import pytest

from skincare.database.iam_login import allow_iam_login


@pytest.fixture
def rds_role(owner_url: str) -> Iterator[None]:
    """What RDS has and no other server."""
    with psycopg.connect(owner_url, autocommit=True) as conn:
        conn.execute("CREATE ROLE rds_iam")
        yield
        conn.execute("DROP ROLE rds_iam")


class TestLoginWithTokens:
    def test_is_allowed_to_the_role_of_the_functions_on_rds(self, owner_url: str, rds_role: None) -> None:
        assert allow_iam_login(owner_url)
        with psycopg.connect(owner_url) as conn:
            assert conn.execute("SELECT pg_has_role('app', 'rds_iam', 'member')").fetchone() == (True,)

    def test_may_be_allowed_again_in_each_deploy(self, owner_url: str, rds_role: None) -> None:
        assert allow_iam_login(owner_url)
        assert allow_iam_login(owner_url)

    def test_is_unknown_to_other_servers(self, owner_url: str) -> None:
        assert not allow_iam_login(owner_url)
