"""The API's parts put together for a measurement: an App on the bench's database and events for its handler."""

import contextlib
import json
import logging
import os
from collections.abc import Iterator, Sequence
from typing import Any

from skincare.app import App
from skincare.bootstrap import build_app
from skincare.config import Settings
from skincare.deployment.queues import QueueName
from skincare.identifiers import UserId
from skincare.jobs.models import DueJob
from skincare.jobs.publisher import Publisher
from skincare.observability import logger


class SilentPublisher(Publisher):
    """Sends nothing: the checkout without what comes after its commit."""

    def __init__(self) -> None:
        """Needs neither database nor queues."""

    def publish_now(self, jobs: Sequence[DueJob], *, taken: bool = False) -> None:
        """Do nothing."""


class Context:
    """What the handler reads of Lambda's context."""

    aws_request_id = "00000000-0000-4000-8000-000000000000"


def environment(database_url: str, aws_url: str) -> dict[str, str]:
    """Return the variables of a function whose database and AWS these are."""
    urls = {
        f"{prefix}QUEUE_URL_{name.upper()}": f"{aws_url}/123456789012/{suffix}{name}"
        for name in QueueName
        for prefix, suffix in (("", ""), ("DEAD_LETTER_", "dead-"))
    }
    return {
        "DATABASE_URL": database_url,
        "AWS_ENDPOINT_URL": aws_url,
        "AWS_ACCESS_KEY_ID": "bench",
        "AWS_SECRET_ACCESS_KEY": "bench",
        "AWS_DEFAULT_REGION": "ap-southeast-3",
        "MAIL_FROM": "shop@example.com",
        "SHOP_URL": "https://shop.example.com",
        "INVOICE_BUCKET": "invoices",
        "SELLER_NAME": "PT Contoh Skincare",
        "SELLER_ADDRESS": "Jalan Contoh No. 1",
        "SELLER_TAX_ID": "00.000.000.0-000.000",
        **urls,
    }


def make_app(database_url: str, aws_url: str) -> App:
    """Wire an App as a container does."""
    return build_app(Settings.from_env(environment(database_url, aws_url) | {"SERVES_CUSTOMERS": "true"}))


@contextlib.contextmanager
def logs_discarded() -> Iterator[None]:
    """Send the product's log lines nowhere; making them stays part of what is measured."""
    handlers = [handler for handler in logger._logger.handlers if isinstance(handler, logging.StreamHandler)]
    with open(os.devnull, "w") as nowhere:
        before = [handler.setStream(nowhere) for handler in handlers]
        try:
            yield
        finally:
            for handler, stream in zip(handlers, before, strict=True):
                handler.setStream(stream)


def checkout_event(user_id: UserId) -> dict[str, Any]:
    """Return what API Gateway makes of a checkout: payload format 2.0 with the authorizer's claims."""
    now = 1767225600
    claims = {
        "sub": user_id,
        "email": "buyer@example.com",
        "locale": "id",
        "iss": "https://identity.example.com",
        "aud": "shop",
        "iat": str(now),
        "exp": str(now + 3600),
    }
    return {
        "version": "2.0",
        "routeKey": "POST /v1/orders",
        "rawPath": "/v1/orders",
        "rawQueryString": "",
        "headers": {
            "accept": "application/json",
            "accept-language": "id-ID,id;q=0.9,en;q=0.8",
            "content-length": "123",
            "content-type": "application/json",
            "host": "api.example.com",
            "idempotency-key": user_id.replace(" ", "-"),
            "user-agent": "Mozilla/5.0 (X11; Linux x86_64; rv:142.0) Gecko/20100101 Firefox/142.0",
            "x-amzn-trace-id": "Root=1-67891233-abcdef012345678912345678",
            "x-forwarded-for": "203.0.113.9",
            "x-forwarded-port": "443",
            "x-forwarded-proto": "https",
        },
        "requestContext": {
            "accountId": "123456789012",
            "apiId": "api",
            "authorizer": {"jwt": {"claims": claims, "scopes": None}},
            "domainName": "api.example.com",
            "http": {
                "method": "POST",
                "path": "/v1/orders",
                "protocol": "HTTP/1.1",
                "sourceIp": "203.0.113.9",
                "userAgent": "Mozilla/5.0",
            },
            "requestId": "JKJaXmPLvHcESHA=",
            "routeKey": "POST /v1/orders",
            "stage": "$default",
            "time": "01/Jan/2026:00:00:00 +0000",
            "timeEpoch": now * 1000,
        },
        "body": json.dumps(
            {"recipient_name": "Buyer", "shipping_address": "Example Street 1", "note": "Please ring twice"}
        ),
        "isBase64Encoded": False,
    }
