"""The database's login comes from Secrets Manager, and a rotation costs one look at it."""

import json
import secrets
import threading
import uuid
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest
from psycopg import Connection
from psycopg.conninfo import conninfo_to_dict
from psycopg.sql import SQL, Identifier, Literal

from skincare.adapters.aws import AwsSession
from skincare.adapters.secrets import SecretsManagerDatabaseCredentials
from skincare.database.connection import Database, DatabaseUnavailable
from skincare.errors import ConfigurationError
from skincare.observability import describe
from tests.support.aws import LONG_TIMEOUTS

BASE_URL = "postgresql://proxy.example.com:5432/skincare?sslmode=verify-full"
AWKWARD = "p@ss:w/ord?#[]%25 \"é+&='\\🌸"


class CountingAws(AwsSession):
    """Stands before another session and counts how often a secret is asked for."""

    def __init__(self, aws: AwsSession) -> None:
        super().__init__()
        self._aws = aws
        self.reads = 0

    def client(self, service: str, *args: Any, **kwargs: Any) -> Any:
        self._client = self._aws.client(service, *args, **kwargs)
        return self

    def get_secret_value(self, **request: str) -> Any:
        self.reads += 1
        return self._client.get_secret_value(**request)


class Store:
    """The secrets of the moto server."""

    def __init__(self, aws: AwsSession) -> None:
        self._client = aws.client("secretsmanager", LONG_TIMEOUTS)

    def create(self, content: str) -> str:
        name = f"database-{uuid.uuid4()}"
        self._client.create_secret(Name=name, SecretString=content)
        return name

    def change(self, name: str, content: str) -> None:
        self._client.put_secret_value(SecretId=name, SecretString=content)

    def delete(self, name: str) -> None:
        self._client.delete_secret(SecretId=name, RecoveryWindowInDays=7)


def login(user: str, password: str) -> str:
    return json.dumps({"username": user, "password": password, "engine": "postgres", "port": 5432})


@pytest.fixture
def counting(aws: AwsSession) -> CountingAws:
    return CountingAws(aws)


@pytest.fixture
def store(aws: AwsSession) -> Store:
    return Store(aws)


class TestTheConnectionString:
    def test_gets_the_login_of_the_secret_and_keeps_all_else(self, counting: CountingAws, store: Store) -> None:
        credentials = SecretsManagerDatabaseCredentials(BASE_URL, store.create(login("app", "new")), aws=counting)
        assert credentials.conninfo() == ("postgresql://app:new@proxy.example.com:5432/skincare?sslmode=verify-full")

    @pytest.mark.parametrize("base", ["old:canary@", "old@", ""])
    def test_keeps_nothing_of_a_login_in_the_setting(self, counting: CountingAws, store: Store, base: str) -> None:
        url = f"postgres://{base}one.example.com:5432,two.example.com:5433/skincare"
        credentials = SecretsManagerDatabaseCredentials(url, store.create(login("app", "new")), aws=counting)
        read = conninfo_to_dict(credentials.conninfo())
        assert read == {
            "user": "app",
            "password": "new",
            "host": "one.example.com,two.example.com",
            "port": "5432,5433",
            "dbname": "skincare",
        }

    def test_carries_any_character_to_libpq(self, counting: CountingAws, store: Store) -> None:
        secret = store.create(login(f"user {AWKWARD}", AWKWARD))
        read = conninfo_to_dict(SecretsManagerDatabaseCredentials(BASE_URL, secret, aws=counting).conninfo())
        assert (read["user"], read["password"]) == (f"user {AWKWARD}", AWKWARD)
        assert read["host"] == "proxy.example.com"

    def test_is_read_once_and_again_when_asked_for_fresh(self, counting: CountingAws, store: Store) -> None:
        secret = store.create(login("app", "old"))
        credentials = SecretsManagerDatabaseCredentials(BASE_URL, secret, aws=counting)
        assert counting.reads == 0
        old = [credentials.conninfo() for _ in range(3)]
        assert (len(set(old)), counting.reads) == (1, 1)
        store.change(secret, login("app", "new"))
        assert credentials.conninfo() == old[0]
        assert "new" in credentials.conninfo(fresh=True)
        assert (credentials.conninfo(), counting.reads) == (credentials.conninfo(), 2)
        assert "new" in credentials.conninfo()


class TestAMisconfiguration:
    def test_that_the_secret_is_missing_names_the_setting(self, counting: CountingAws) -> None:
        credentials = SecretsManagerDatabaseCredentials(BASE_URL, "canary-of-a-name", aws=counting)
        with pytest.raises(ConfigurationError, match="DATABASE_SECRET_ID names a secret that does not exist") as caught:
            credentials.conninfo()
        assert "canary" not in describe(caught.value)

    def test_that_the_secret_is_deleted_names_the_setting(self, counting: CountingAws, store: Store) -> None:
        secret = store.create(login("app", "old"))
        store.delete(secret)
        with pytest.raises(ConfigurationError, match="DATABASE_SECRET_ID names a secret that is deleted"):
            SecretsManagerDatabaseCredentials(BASE_URL, secret, aws=counting).conninfo()

    @pytest.mark.parametrize(
        ("content", "reason"),
        [
            ("canary", "not JSON"),
            ('"canary"', "without a usable username"),
            ("[]", "without a usable username"),
            ('{"password":"canary"}', "without a usable username"),
            ('{"username":"app"}', "without a usable password"),
            ('{"username":"app","password":""}', "without a usable password"),
            ('{"username":"app","password":12345}', "without a usable password"),
            ('{"username":"app","password":"canary\\u0000"}', "without a usable password"),
        ],
    )
    def test_of_the_secrets_content_tells_the_setting_and_no_content(
        self, counting: CountingAws, store: Store, content: str, reason: str
    ) -> None:
        credentials = SecretsManagerDatabaseCredentials(BASE_URL, store.create(content), aws=counting)
        with pytest.raises(ConfigurationError, match=f"DATABASE_SECRET_ID names a secret.*{reason}") as caught:
            credentials.conninfo()
        assert "canary" not in str(caught.value)
        assert caught.value.__cause__ is None
        assert caught.value.__context__ is None or caught.value.__suppress_context__

    @pytest.mark.parametrize("url", ["host=db.example.com", "mysql://db.example.com/x", "postgresql:///x", "http://[x"])
    def test_of_the_url_names_the_setting(self, counting: CountingAws, store: Store, url: str) -> None:
        credentials = SecretsManagerDatabaseCredentials(url, store.create(login("app", "canary")), aws=counting)
        with pytest.raises(ConfigurationError, match="DATABASE_URL is not a URL") as caught:
            credentials.conninfo()
        assert "canary" not in str(caught.value)

    def test_is_noticed_at_each_use_and_at_once_right_when_corrected(self, counting: CountingAws, store: Store) -> None:
        secret = store.create("{}")
        credentials = SecretsManagerDatabaseCredentials(BASE_URL, secret, aws=counting)
        for _ in range(2):
            with pytest.raises(ConfigurationError):
                credentials.conninfo()
        store.change(secret, login("app", "new"))
        assert "new" in credentials.conninfo()


class TestAnOutageOfTheStore:
    def test_is_an_outage_of_the_database_and_no_misconfiguration(self, aws_endpoint: str) -> None:
        nowhere = AwsSession("http://127.0.0.1:9")
        database = Database(SecretsManagerDatabaseCredentials(BASE_URL, "any", aws=nowhere))
        with pytest.raises(DatabaseUnavailable, match="EndpointConnectionError"), database.connection():
            pytest.fail("there is no such connection")


class Rotation:
    """A role of one test whose password rotates, and the secret that holds it."""

    def __init__(self, owner: Connection, store: Store, database_url: str, user: str) -> None:
        self._owner = owner
        self._store = store
        self.user = user
        self.password = secrets.token_urlsafe(12)
        self.base_url = (
            urlsplit(database_url)._replace(netloc=database_url.rpartition("@")[2].partition("/")[0]).geturl()
        )
        owner.execute(SQL("CREATE ROLE {} LOGIN PASSWORD {}").format(Identifier(user), Literal(self.password)))
        self.secret = store.create(login(user, self.password))

    def change_server(self) -> None:
        self.password = secrets.token_urlsafe(12)
        self._owner.execute(SQL("ALTER ROLE {} PASSWORD {}").format(Identifier(self.user), Literal(self.password)))

    def change_store(self, password: str | None = None) -> None:
        self._store.change(self.secret, login(self.user, password or self.password))


@pytest.fixture
def rotation(owner_url: str, database_url: str, store: Store) -> Iterator[Rotation]:
    user = f"rotated {uuid.uuid4()}"
    with psycopg.connect(owner_url, autocommit=True) as owner:
        yield Rotation(owner, store, database_url, user)
        owner.execute(SQL("DROP ROLE {}").format(Identifier(user)))


def database_of(rotation: Rotation, aws: AwsSession, max_connections: int = 1) -> Database:
    credentials = SecretsManagerDatabaseCredentials(rotation.base_url, rotation.secret, aws=aws)
    return Database(credentials, max_connections=max_connections)


def whoami(database: Database) -> str:
    with database.connection() as conn:
        (user,) = conn.execute("SELECT session_user").fetchone() or ("",)
    database.close()
    return str(user)


class TestARotation:
    def test_costs_one_look_at_the_secret_and_the_caller_does_not_notice(
        self, rotation: Rotation, counting: CountingAws
    ) -> None:
        database = database_of(rotation, counting)
        assert whoami(database) == rotation.user
        rotation.change_server()
        rotation.change_store()
        assert counting.reads == 1
        assert whoami(database) == rotation.user
        assert counting.reads == 2
        assert whoami(database) == rotation.user
        assert counting.reads == 2

    def test_that_the_store_does_not_know_yet_is_an_outage_and_no_loop(
        self, rotation: Rotation, counting: CountingAws, owner_url: str
    ) -> None:
        database = database_of(rotation, counting)
        whoami(database)
        rotation.change_server()
        for reads in (2, 3):
            with pytest.raises(DatabaseUnavailable) as caught:
                whoami(database)
            assert counting.reads == reads
            assert describe(caught.value) == "database unavailable (OperationalError)"
        rotation.change_store()
        assert whoami(database) == rotation.user

    def test_after_which_old_and_new_password_are_wrong_is_an_outage_and_no_loop(
        self, rotation: Rotation, counting: CountingAws
    ) -> None:
        database = database_of(rotation, counting)
        whoami(database)
        rotation.change_server()
        rotation.change_store("neither old nor right")
        with pytest.raises(DatabaseUnavailable):
            whoami(database)
        assert counting.reads == 2

    def test_noticed_by_many_at_once_costs_one_look_too(self, rotation: Rotation, counting: CountingAws) -> None:
        database = database_of(rotation, counting, max_connections=4)
        whoami(database)
        rotation.change_server()
        rotation.change_store()
        ready = threading.Barrier(4)
        seen: list[str] = []

        def use() -> None:
            with database.connection() as conn:
                ready.wait(timeout=10)
                (user,) = conn.execute("SELECT session_user").fetchone() or ("",)
                seen.append(user)

        threads = [threading.Thread(target=use) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=20)
        database.close()
        assert seen == [rotation.user] * 4
        assert counting.reads == 2

    def test_does_not_ask_the_store_about_a_database_that_is_gone(self, store: Store, counting: CountingAws) -> None:
        secret = store.create(login("app", "any"))
        credentials = SecretsManagerDatabaseCredentials("postgresql://127.0.0.1:9/x", secret, aws=counting)
        with pytest.raises(DatabaseUnavailable):
            whoami(Database(credentials))
        assert counting.reads == 1

    def test_leaves_no_password_in_errors_and_representations(
        self, rotation: Rotation, counting: CountingAws, capsys: pytest.CaptureFixture[str]
    ) -> None:
        old = rotation.password
        credentials = SecretsManagerDatabaseCredentials(rotation.base_url, rotation.secret, aws=counting)
        database = Database(credentials)
        whoami(database)
        rotation.change_server()
        with pytest.raises(DatabaseUnavailable) as caught:
            whoami(database)
        written = "".join(capsys.readouterr()) + repr((credentials, database, caught.value)) + describe(caught.value)
        assert old not in written
        assert rotation.password not in written
