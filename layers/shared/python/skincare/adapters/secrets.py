"""The database's user and password, from AWS Secrets Manager."""

import json
import threading
from datetime import timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from skincare.adapters.aws import AwsSession, Timeouts
from skincare.database.connection import DatabaseUnavailable
from skincare.errors import ConfigurationError

if TYPE_CHECKING:
    from types_boto3_secretsmanager import SecretsManagerClient

_TIMEOUTS = Timeouts(connect=timedelta(seconds=0.5), read=timedelta(seconds=1))

# Codes of GetSecretValue that waiting does not cure: somebody must correct the setting, the secret or the role.
_MISCONFIGURED = {
    "ResourceNotFoundException": "names a secret that does not exist",
    "AccessDeniedException": "names a secret that this function may not read",
    "InvalidRequestException": "names a secret that is deleted or has no current version",
    "InvalidParameterException": "is not the name of a secret",
    "ValidationException": "is not the name of a secret",
    "DecryptionFailure": "names a secret whose key this function may not use",
}


class SecretsManagerDatabaseCredentials:
    """A libpq URL with the user and password of a secret in it; matches `skincare.database.connection.Credentials`.

    The secret is the JSON object that RDS rotates: `{"username": …, "password": …}`, other members are
    ignored. It is read at the first use and kept for the life of the container, until `fresh` is asked for.
    """

    def __init__(self, base_url: str, secret_id: str, *, aws: AwsSession) -> None:
        self._base_url = base_url
        self._secret_id = secret_id
        self._aws = aws
        self._lock = threading.Lock()
        self._conninfo: str | None = None

    def conninfo(self, *, fresh: bool = False) -> str:
        """Return the URL; `fresh` reads the secret again, once.

        Raises `ConfigurationError` naming the setting that a person must correct, and `DatabaseUnavailable`
        when the secret cannot be had now.
        """
        with self._lock:
            if fresh or self._conninfo is None:
                self._conninfo = _with_login(self._base_url, *_login_in(self._read()))
            return self._conninfo

    def _read(self) -> str | None:
        # Loaded here for the cold start; both are parts of boto3.
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            client: SecretsManagerClient = self._aws.client("secretsmanager", _TIMEOUTS)
            return client.get_secret_value(SecretId=self._secret_id).get("SecretString")
        except ClientError as error:
            reason = _MISCONFIGURED.get(error.response.get("Error", {}).get("Code", ""))
            if reason is None:
                raise DatabaseUnavailable(error) from error
            raise ConfigurationError(f"DATABASE_SECRET_ID {reason}") from None
        except BotoCoreError as error:
            raise DatabaseUnavailable(error) from error


def _login_in(secret: str | None) -> tuple[str, str]:
    """Return user and password. Errors quote nothing of the secret, nor do their causes."""
    try:
        content: Any = json.loads(secret or "")
    except ValueError:
        raise ConfigurationError("DATABASE_SECRET_ID names a secret that is not JSON") from None
    values = []
    for member in ("username", "password"):
        value = content.get(member) if isinstance(content, dict) else None
        # libpq refuses a NUL, quoting the value in its message.
        if not isinstance(value, str) or not value or "\0" in value:
            raise ConfigurationError(f"DATABASE_SECRET_ID names a secret without a usable {member}")
        values.append(value)
    return values[0], values[1]


def _with_login(base_url: str, user: str, password: str) -> str:
    """Put a login into a libpq URL in place of any that it has."""
    try:
        url = urlsplit(base_url)
    except ValueError:
        raise ConfigurationError("DATABASE_URL is not a URL") from None
    if url.scheme not in {"postgresql", "postgres"} or not url.netloc:
        raise ConfigurationError("DATABASE_URL is not a URL that begins with postgresql:// and names a host")
    hosts = url.netloc.rpartition("@")[2]
    return url._replace(netloc=f"{quote(user, safe='')}:{quote(password, safe='')}@{hosts}").geturl()
