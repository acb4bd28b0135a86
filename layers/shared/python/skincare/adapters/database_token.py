"""Logging in to RDS and RDS Proxy with a signed token in the place of a password."""

import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from urllib.parse import quote, unquote, urlsplit

from skincare.adapters.sigv4 import presigned_query
from skincare.config import AwsKeys
from skincare.errors import ConfigurationError

# Source: "Connecting to your DB instance using IAM authentication" in the RDS User Guide.
_VALID_FOR = timedelta(minutes=15)
_KEPT_FOR_S = 600.0

_DEFAULT_PORT = 5432


class IamDatabaseCredentials:
    """A libpq URL with a fresh token in it; matches `skincare.database.connection.Credentials`.

    A token is a signature made here, without a call. It is needed at the login only: a session outlives it.
    """

    def __init__(
        self, base_url: str, *, keys: AwsKeys | None, region: str | None, clock: Callable[[], float] = time.time
    ) -> None:
        """`base_url` names user and host and has no password; `clock` gives seconds, also while we are frozen."""
        self._base_url = base_url
        self._keys = keys
        self._region = region
        self._clock = clock
        self._lock = threading.Lock()
        self._known: tuple[str, float] | None = None

    def conninfo(self, *, fresh: bool = False) -> str:
        """Return the URL; `fresh` signs anew. Raises `ConfigurationError` naming what is missing."""
        with self._lock:
            now = self._clock()
            if fresh or self._known is None or not 0 <= now - self._known[1] < _KEPT_FOR_S:
                self._known = self._signed(datetime.fromtimestamp(now, UTC)), now
            return self._known[0]

    def _signed(self, now: datetime) -> str:
        if self._keys is None or self._region is None:
            raise ConfigurationError("DATABASE_IAM_AUTH needs AWS_REGION, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
        try:
            url = urlsplit(self._base_url)
            user, host, port = url.username, url.hostname, url.port or _DEFAULT_PORT
        except ValueError:
            raise ConfigurationError("DATABASE_URL is not a URL") from None
        if url.scheme not in {"postgresql", "postgres"} or not user or not host:
            raise ConfigurationError("DATABASE_URL is not a URL that begins with postgresql:// and names user and host")
        place = f"{host}:{port}"
        query = presigned_query(
            {"Action": "connect", "DBUser": unquote(user)},
            host=place,
            service="rds-db",
            region=self._region,
            keys=self._keys,
            now=now,
            valid_for=_VALID_FOR,
        )
        return url._replace(netloc=f"{user}:{quote(f'{place}/?{query}', safe='')}@{place}").geturl()
