"""What the adapters of one process share to call AWS: a boto3 session, and ways around it."""

import re
import threading
from typing import Any
from urllib.parse import urlsplit

from skincare.adapters.json_api import JsonApi, Origin
from skincare.config import AwsKeys
from skincare.http_client import Timeouts

__all__ = ["AwsSession", "Timeouts"]

# The public name of a service in a region: "Amazon SQS endpoints and quotas" in the AWS General Reference.
_REGIONAL = re.compile(r"(?P<place>https://(?P<service>[a-z]+)\.(?P<region>[a-z0-9-]+)\.amazonaws\.com(\.cn)?)/.*")


class AwsSession:
    """Makes AWS clients at their first use and hands out the same one afterwards.

    Importing boto3 and building a first client costs a cold start about 170 ms of CPU, a second client of
    the same session a few; so nothing is imported before it is needed, and all adapters share one session.
    Clients may be used by many threads at once, but boto3's sessions may not: making one is locked.
    They find region and credentials where AWS puts them; `keys` and `region` are for calls without the SDK.
    `endpoint_url` is set by the local system only.
    """

    def __init__(
        self, endpoint_url: str | None = None, *, keys: AwsKeys | None = None, region: str | None = None
    ) -> None:
        self._endpoint_url = endpoint_url
        self._keys = keys
        self._region = region
        self._lock = threading.Lock()
        self._session: Any = None
        self._clients: dict[tuple[str, Timeouts, int], Any] = {}
        self._apis: dict[tuple[Origin, Timeouts], JsonApi] = {}

    def client(self, service: str, timeouts: Timeouts, *, attempts: int = 1) -> Any:
        """Return the client of a service, which tries each call at most `attempts` times.

        Raises botocore's `BotoCoreError` where region or credentials are not configured.
        """
        key = (service, timeouts, attempts)
        with self._lock:
            if key not in self._clients:
                self._clients[key] = self._make(service, timeouts, attempts)
            return self._clients[key]

    def json_api(self, service: str, url: str, timeouts: Timeouts) -> JsonApi | None:
        """Return how to call the service of this URL without the SDK, the same for all URLs of one place.

        None leaves it to the SDK: there are no keys, or the place is none that is known to take them.
        """
        origin = self._origin(service, url)
        if self._keys is None or origin is None:
            return None
        key = (origin, timeouts)
        with self._lock:
            if key not in self._apis:
                self._apis[key] = JsonApi(origin, keys=self._keys, timeouts=timeouts)
            return self._apis[key]

    def _origin(self, service: str, url: str) -> Origin | None:
        regional = _REGIONAL.fullmatch(url)
        region = regional["region"] if regional else self._region
        if self._endpoint_url is None:
            if regional is None or regional["service"] != service:
                return None
            return _place(regional["place"], service, region)
        return _place(self._endpoint_url.removesuffix("/"), service, region)

    def _make(self, service: str, timeouts: Timeouts, attempts: int) -> Any:
        import boto3
        from botocore.config import Config

        if self._session is None:
            self._session = boto3.session.Session()
        config = Config(
            connect_timeout=timeouts.connect.total_seconds(),
            read_timeout=timeouts.read.total_seconds(),
            retries={"total_max_attempts": attempts, "mode": "standard"},
            # Without this, links to files lead to the address of all regions, which leads on to another one that
            # their signature does not cover.
            s3={"addressing_style": "virtual"},
        )
        return self._session.client(service, endpoint_url=self._endpoint_url, config=config)


def _place(url: str, service: str, region: str | None) -> Origin | None:
    """Return the service at this URL, which is a scheme and a host; None for any other URL."""
    try:
        parts = urlsplit(url)
        odd = parts.port == 0 or not parts.hostname or "@" in parts.netloc or parts.path or parts.query
    except ValueError:
        return None
    if odd or region is None or parts.scheme not in {"http", "https"}:
        return None
    return Origin(parts.scheme, parts.netloc, service, region)
