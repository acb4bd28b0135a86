"""AWS Signature Version 4 for what the JSON protocols of AWS send, a POST to `/` with everything in its body, and
for addresses that carry their signature.

Source: "Create a signed AWS API request" in the IAM User Guide.
"""

import hmac
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from urllib.parse import quote

from skincare.config import AwsKeys

_ALGORITHM = "AWS4-HMAC-SHA256"


def signed_headers(
    headers: Mapping[str, str], body: bytes, *, service: str, region: str, keys: AwsKeys, now: datetime
) -> dict[str, str]:
    """Return the headers with those that sign all of them and the body.

    Names are in lower case and `host` is among them; values have no white space at their ends and never two
    spaces in a row. `now` is an aware time: AWS takes a signature for five minutes.
    """
    moment = _moment(now)
    signed = {**headers, "x-amz-date": moment}
    if keys.session_token:
        signed["x-amz-security-token"] = keys.session_token
    names = sorted(signed)
    lines = [f"{name}:{signed[name]}" for name in names]
    request = "\n".join(["POST", "/", "", *lines, "", ";".join(names), sha256(body).hexdigest()])

    scope = [moment[:8], region, service, "aws4_request"]
    signature = _signature(request, moment, scope, keys)
    credential = "/".join([keys.access_key_id, *scope])
    authorization = f"{_ALGORITHM} Credential={credential}, SignedHeaders={';'.join(names)}, Signature={signature}"
    return signed | {"authorization": authorization}


def presigned_query(
    query: Mapping[str, str],
    *,
    host: str,
    service: str,
    region: str,
    keys: AwsKeys,
    now: datetime,
    valid_for: timedelta,
) -> str:
    """Return the query with its signature, for a GET of `/` on this host, which names its port where it has one."""
    moment = _moment(now)
    scope = [moment[:8], region, service, "aws4_request"]
    signed = {
        **query,
        "X-Amz-Algorithm": _ALGORITHM,
        "X-Amz-Credential": "/".join([keys.access_key_id, *scope]),
        "X-Amz-Date": moment,
        "X-Amz-Expires": str(int(valid_for.total_seconds())),
        "X-Amz-SignedHeaders": "host",
    }
    if keys.session_token:
        signed["X-Amz-Security-Token"] = keys.session_token
    text = "&".join(f"{quote(name, safe='')}={quote(value, safe='')}" for name, value in sorted(signed.items()))
    request = "\n".join(["GET", "/", text, f"host:{host}", "", "host", sha256(b"").hexdigest()])
    return f"{text}&X-Amz-Signature={_signature(request, moment, scope, keys)}"


def _moment(now: datetime) -> str:
    return now.astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")


def _signature(request: str, moment: str, scope: list[str], keys: AwsKeys) -> str:
    """Sign a canonical request."""
    text = "\n".join([_ALGORITHM, moment, "/".join(scope), sha256(request.encode()).hexdigest()])
    key = f"AWS4{keys.secret_access_key}".encode()
    for part in scope:
        key = hmac.digest(key, part.encode(), "sha256")
    return hmac.digest(key, text.encode(), "sha256").hex()
