"""The signature is AWS's own, by its published example and by what botocore makes of anything else."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from unittest.mock import patch

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from hypothesis import given
from hypothesis import strategies as st

from skincare.adapters.sigv4 import signed_headers
from skincare.config import AwsKeys

PUBLISHED = AwsKeys("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY")
SOME_TEXT = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=60)


def of_botocore(
    headers: dict[str, str], body: bytes, *, service: str, region: str, keys: AwsKeys, now: datetime
) -> dict[str, str]:
    request: Any = AWSRequest("POST", f"https://{headers['host']}/", headers=headers, data=body)
    credentials = Credentials(keys.access_key_id, keys.secret_access_key, keys.session_token)
    with patch("botocore.auth.get_current_datetime", return_value=now.astimezone(UTC)):
        SigV4Auth(credentials, service, region).add_auth(request)
    return {name.lower(): value for name, value in request.headers.items()}


class TestSigning:
    def test_the_published_example_post_vanilla_has_its_published_signature(self) -> None:
        headers = signed_headers(
            {"host": "example.amazonaws.com"},
            b"",
            service="service",
            region="us-east-1",
            keys=PUBLISHED,
            now=datetime(2015, 8, 30, 12, 36, tzinfo=UTC),
        )
        assert headers["authorization"] == (
            "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, "
            "SignedHeaders=host;x-amz-date, Signature=5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"
        )

    @given(
        body=st.binary(max_size=300),
        now=st.datetimes(
            datetime(2000, 1, 1),  # noqa: DTZ001
            datetime(2099, 1, 1),  # noqa: DTZ001
            timezones=st.sampled_from([UTC, timezone(timedelta(hours=7)), timezone(-timedelta(hours=11))]),
        ),
        keys=st.builds(AwsKeys, SOME_TEXT, SOME_TEXT, st.none() | SOME_TEXT),
        target=SOME_TEXT,
        region=st.sampled_from(["ap-southeast-3", "us-east-1", "cn-north-1"]),
        port=st.sampled_from(["", ":4566"]),
    )
    def test_any_other_request_is_signed_as_botocore_signs_it(
        self, body: bytes, now: datetime, keys: AwsKeys, target: str, region: str, port: str
    ) -> None:
        headers = {
            "content-type": "application/x-amz-json-1.0",
            "host": f"sqs.{region}.amazonaws.com{port}",
            "x-amz-target": target,
        }
        ours = signed_headers(headers, body, service="sqs", region=region, keys=keys, now=now)
        theirs = of_botocore(headers, body, service="sqs", region=region, keys=keys, now=now)
        for name in ("authorization", "x-amz-date", "x-amz-security-token"):
            assert ours.get(name) == theirs.get(name)
