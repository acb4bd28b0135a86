"""What every store of files promises: the fake of the tests, and S3 as moto plays it.

moto does not look at the expiry of a link, so that is read off the link itself.
"""

import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta
from urllib.parse import parse_qs, urlsplit

import pytest
import urllib3

from skincare.adapters.aws import AwsSession
from skincare.adapters.s3 import S3ObjectStore
from skincare.errors import ConfigurationError
from skincare.invoices.ports import ObjectStore, ObjectStoreUnavailable
from tests.fakes.object_store import FakeObjectStore
from tests.support.aws import LONG_TIMEOUTS

REGION = "ap-southeast-3"
PDF = "application/pdf"


@dataclass(frozen=True)
class StoreUnderTest:
    """A store, and a look at what it keeps."""

    store: ObjectStore
    content: Callable[[str], bytes]


def s3_bucket(aws: AwsSession) -> str:
    name = f"bucket-{uuid.uuid4()}"
    aws.client("s3", LONG_TIMEOUTS).create_bucket(Bucket=name, CreateBucketConfiguration={"LocationConstraint": REGION})
    return name


@pytest.fixture(params=["fake", "S3"])
def subject(request: pytest.FixtureRequest) -> StoreUnderTest:
    if request.param == "fake":
        fake = FakeObjectStore()
        return StoreUnderTest(fake, lambda key: fake.files[key])
    aws: AwsSession = request.getfixturevalue("aws")
    bucket = s3_bucket(aws)
    client = aws.client("s3", LONG_TIMEOUTS)
    return StoreUnderTest(
        S3ObjectStore(bucket, aws=aws), lambda key: client.get_object(Bucket=bucket, Key=key)["Body"].read()
    )


class TestAStore:
    def test_keeps_a_file(self, subject: StoreUnderTest) -> None:
        assert subject.store.put_if_absent("invoices/a.pdf", b"%PDF-a", content_type=PDF)
        assert subject.content("invoices/a.pdf") == b"%PDF-a"

    def test_never_changes_a_file(self, subject: StoreUnderTest) -> None:
        assert subject.store.put_if_absent("a", b"first", content_type=PDF)
        assert not subject.store.put_if_absent("a", b"second", content_type=PDF)
        assert subject.content("a") == b"first"
        assert subject.store.put_if_absent("b", b"other", content_type=PDF)

    def test_keeps_one_of_many_that_come_at_once(self, subject: StoreUnderTest) -> None:
        contents = [f"content {number}".encode() for number in range(8)]
        with ThreadPoolExecutor(8) as pool:
            kept = list(pool.map(lambda content: subject.store.put_if_absent("a", content, content_type=PDF), contents))
        assert kept.count(True) == 1
        assert subject.content("a") == contents[kept.index(True)]

    def test_links_to_a_file(self, subject: StoreUnderTest) -> None:
        link = subject.store.link("invoices/a.pdf", filename="a.pdf", expires_in=timedelta(minutes=5))
        assert urlsplit(link).path.endswith("invoices/a.pdf")


class TestS3:
    def test_shows_the_file_of_a_link_to_whoever_has_it(self, aws: AwsSession) -> None:
        bucket = s3_bucket(aws)
        store = S3ObjectStore(bucket, aws=aws)
        store.put_if_absent("invoices/SKN-1/INV-2026-000001-v1.pdf", b"%PDF-a", content_type=PDF)
        link = store.link(
            "invoices/SKN-1/INV-2026-000001-v1.pdf", filename="INV-2026-000001.pdf", expires_in=timedelta(minutes=5)
        )
        with urllib3.PoolManager() as pool:
            answer = pool.request("GET", link, timeout=10, retries=False)
        assert (answer.status, answer.data, answer.headers["content-type"]) == (200, b"%PDF-a", PDF)
        assert answer.headers["content-disposition"] == 'inline; filename="INV-2026-000001.pdf"'

    def test_signs_a_link_for_its_region_and_for_so_long(self) -> None:
        """Regions made after 2014 take no other signature ("Signature Version 2" in the S3 user guide)."""
        with pytest.MonkeyPatch.context() as environment:
            environment.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
            environment.setenv("AWS_SECRET_ACCESS_KEY", "secret")
            environment.setenv("AWS_DEFAULT_REGION", REGION)
            link = S3ObjectStore("files", aws=AwsSession()).link(
                "a b.pdf", filename="a.pdf", expires_in=timedelta(minutes=5)
            )
        parts, query = urlsplit(link), parse_qs(urlsplit(link).query)
        assert (parts.scheme, parts.netloc, parts.path) == ("https", f"files.s3.{REGION}.amazonaws.com", "/a%20b.pdf")
        assert query["X-Amz-Algorithm"] == ["AWS4-HMAC-SHA256"]
        assert query["X-Amz-Expires"] == ["300"]
        assert f"/{REGION}/s3/aws4_request" in query["X-Amz-Credential"][0]

    def test_that_refuses_is_tried_again_and_says_its_code_only(self, aws: AwsSession) -> None:
        with pytest.raises(ObjectStoreUnavailable, match=r"\(NoSuchBucket\)"):
            S3ObjectStore(f"missing-{uuid.uuid4()}", aws=aws).put_if_absent("a", b"a", content_type=PDF)

    def test_that_does_not_answer_is_tried_again(self, aws: AwsSession) -> None:
        away = AwsSession("http://127.0.0.1:1")
        with pytest.raises(ObjectStoreUnavailable, match="EndpointConnectionError"):
            S3ObjectStore("files", aws=away).put_if_absent("a", b"a", content_type=PDF)

    def test_without_a_bucket_names_the_setting(self, aws: AwsSession) -> None:
        store = S3ObjectStore(None, aws=aws)
        with pytest.raises(ConfigurationError, match="INVOICE_BUCKET"):
            store.put_if_absent("a", b"a", content_type=PDF)
        with pytest.raises(ConfigurationError, match="INVOICE_BUCKET"):
            store.link("a", filename="a", expires_in=timedelta(minutes=5))
