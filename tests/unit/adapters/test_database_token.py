"""A token in the place of a database password is what AWS's own tool would make, and is renewed in time."""

import ssl
from datetime import UTC, datetime
from pathlib import Path
from unittest.mock import patch
from urllib.parse import parse_qs, unquote

import boto3
import pytest
from psycopg.conninfo import conninfo_to_dict

import skincare.database
from skincare.adapters.database_token import IamDatabaseCredentials
from skincare.config import AwsKeys
from skincare.errors import ConfigurationError

KEYS = AwsKeys("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "a/session+token==")
HOST = "skincare.proxy-abc.ap-southeast-3.rds.amazonaws.com"
URL = f"postgresql://app@{HOST}:5432/skincare?sslmode=verify-full"
NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


class Clock:
    def __init__(self) -> None:
        self.now = NOON.timestamp()

    def __call__(self) -> float:
        return self.now


def credentials(url: str = URL, *, keys: AwsKeys | None = KEYS, clock: Clock | None = None) -> IamDatabaseCredentials:
    return IamDatabaseCredentials(url, keys=keys, region="ap-southeast-3", clock=clock or Clock())


def token_in(conninfo: str) -> str:
    return str(conninfo_to_dict(conninfo)["password"])


class TestAToken:
    @pytest.mark.parametrize("session_token", ["a/session+token==", None])
    def test_is_what_the_sdk_makes(self, session_token: str | None) -> None:
        keys = AwsKeys(KEYS.access_key_id, KEYS.secret_access_key, session_token)
        rds = boto3.client(
            "rds",
            region_name="ap-southeast-3",
            aws_access_key_id=keys.access_key_id,
            aws_secret_access_key=keys.secret_access_key,
            aws_session_token=session_token,
        )
        with patch("botocore.auth.get_current_datetime", return_value=NOON):
            theirs = rds.generate_db_auth_token(DBHostname=HOST, Port=5432, DBUsername="app")
        ours = token_in(credentials(keys=keys).conninfo())
        place, _, query = ours.partition("/?")
        assert place == f"{HOST}:5432"
        assert parse_qs(query, strict_parsing=True) == parse_qs(theirs.partition("/?")[2], strict_parsing=True)

    def test_leaves_the_rest_of_the_url_alone(self) -> None:
        parts = conninfo_to_dict(credentials().conninfo())
        del parts["password"]
        assert parts == {
            "host": HOST,
            "port": "5432",
            "user": "app",
            "dbname": "skincare",
            "sslmode": "verify-full",
        }

    def test_is_kept_while_it_surely_holds_and_renewed_before_it_ends(self) -> None:
        clock = Clock()
        ours = credentials(clock=clock)
        first = ours.conninfo()
        clock.now += 599
        assert ours.conninfo() == first
        clock.now += 1
        assert ours.conninfo() != first
        assert "X-Amz-Expires=900" in unquote(first)

    def test_is_made_anew_when_the_server_refused_it(self) -> None:
        clock = Clock()
        ours = credentials(clock=clock)
        refused = ours.conninfo()
        clock.now += 1
        assert ours.conninfo(fresh=True) != refused

    def test_is_made_anew_after_the_clock_was_set_back(self) -> None:
        clock = Clock()
        ours = credentials(clock=clock)
        early = ours.conninfo()
        clock.now -= 1
        assert ours.conninfo() != early


class TestWhatIsMissing:
    def test_keys_are_named(self) -> None:
        with pytest.raises(ConfigurationError, match="AWS_ACCESS_KEY_ID"):
            credentials(keys=None).conninfo()

    @pytest.mark.parametrize(
        "url", ["postgresql://host/db", "http://app@host/db", "app@host", "postgresql://app@host:x/canary", "canary"]
    )
    def test_a_useless_url_is_named_and_not_told(self, url: str) -> None:
        with pytest.raises(ConfigurationError, match="DATABASE_URL") as refused:
            credentials(url).conninfo()
        assert "canary" not in str(refused.value)


class TestTheCertificatesOfRds:
    def test_are_roots_of_the_regions_and_of_the_proxy_that_hold_for_years(self) -> None:
        file = Path(skincare.database.__file__).with_name("rds_ca.pem")
        roots = ssl.create_default_context(cafile=str(file)).get_ca_certs()
        names = {part[0][1] for root in roots for part in root["subject"] if part[0][0] == "commonName"}
        assert {"Amazon RDS ap-southeast-3 Root CA RSA2048 G1", "Amazon Root CA 1"} <= names
        assert all(str(root["notAfter"])[-8:-4] >= "2037" for root in roots)
        assert all(root["subject"] == root["issuer"] for root in roots)
