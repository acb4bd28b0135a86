"""AWS Signature Version 4 for what the JSON protocols of AWS send: a POST to `/` with everything in its body.

Source: "Create a signed AWS API request" in the IAM User Guide.
"""

import hmac
from collections.abc import Mapping
from datetime import UTC, datetime
from hashlib import sha256

from skincare.config import AwsKeys

_ALGORITHM = "AWS4-HMAC-SHA256"


def signed_headers(
    headers: Mapping[str, str], body: bytes, *, service: str, region: str, keys: AwsKeys, now: datetime
) -> dict[str, str]:
    """Return the headers with those that sign all of them and the body.

    Names are in lower case and `host` is among them; values have no white space at their ends and never two
    spaces in a row. `now` is an aware time: AWS takes a signature for five minutes.
    """
    moment = now.astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")
    signed = {**headers, "x-amz-date": moment}
    if keys.session_token:
        signed["x-amz-security-token"] = keys.session_token
    names = sorted(signed)
    lines = [f"{name}:{signed[name]}" for name in names]
    request = "\n".join(["POST", "/", "", *lines, "", ";".join(names), sha256(body).hexdigest()])

    scope = [moment[:8], region, service, "aws4_request"]
    text = "\n".join([_ALGORITHM, moment, "/".join(scope), sha256(request.encode()).hexdigest()])
    key = f"AWS4{keys.secret_access_key}".encode()
    for part in scope:
        key = hmac.digest(key, part.encode(), "sha256")
    signature = hmac.digest(key, text.encode(), "sha256").hex()

    credential = "/".join([keys.access_key_id, *scope])
    authorization = f"{_ALGORITHM} Credential={credential}, SignedHeaders={';'.join(names)}, Signature={signature}"
    return signed | {"authorization": authorization}
