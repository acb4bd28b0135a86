"""The boto3 session that the adapters of one process share."""

import threading
from dataclasses import dataclass
from datetime import timedelta
from typing import Any


@dataclass(frozen=True)
class Timeouts:
    """How long one call may wait: for the connection, and then for each part of the answer."""

    connect: timedelta
    read: timedelta


class AwsSession:
    """Makes AWS clients at their first use and hands out the same one afterwards.

    Importing boto3 and building a first client costs a cold start about 170 ms of CPU, a second client of
    the same session a few; so nothing is imported before it is needed, and all adapters share one session.
    Clients may be used by many threads at once, but boto3's sessions may not: making one is locked.
    Region and credentials come from where AWS puts them; `endpoint_url` is set by the local system only.
    """

    def __init__(self, endpoint_url: str | None = None) -> None:
        self._endpoint_url = endpoint_url
        self._lock = threading.Lock()
        self._session: Any = None
        self._clients: dict[tuple[str, Timeouts, int], Any] = {}

    def client(self, service: str, timeouts: Timeouts, *, attempts: int = 1) -> Any:
        """Return the client of a service, which tries each call at most `attempts` times.

        Raises botocore's `BotoCoreError` where region or credentials are not configured.
        """
        key = (service, timeouts, attempts)
        with self._lock:
            if key not in self._clients:
                self._clients[key] = self._make(service, timeouts, attempts)
            return self._clients[key]

    def _make(self, service: str, timeouts: Timeouts, attempts: int) -> Any:
        import boto3
        from botocore.config import Config

        if self._session is None:
            self._session = boto3.session.Session()
        config = Config(
            connect_timeout=timeouts.connect.total_seconds(),
            read_timeout=timeouts.read.total_seconds(),
            retries={"total_max_attempts": attempts, "mode": "standard"},
        )
        return self._session.client(service, endpoint_url=self._endpoint_url, config=config)
