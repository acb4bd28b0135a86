import base64
import json
from typing import Any

import pytest
from werkzeug import Request
from werkzeug.test import create_environ

from emulator.gateway.http_event import GatewayRequest, MalformedAnswer, response_from


def event_of(
    path: str = "/v1/orders", *, body: bytes = b"", claims: dict[str, Any] | None = None, **environ: Any
) -> dict[str, Any]:
    request = Request(create_environ(path, base_url="http://127.0.0.1:8000", **environ))
    parameters = {"sku": "SERUM-1"} if "products" in path else None
    return GatewayRequest(request, body, "$default", parameters, claims, "r-1", "Root=1").event()


class TestAnEventOfPayloadFormat2:
    def test_it_has_the_members_that_api_gateway_sends(self) -> None:
        event = event_of(
            method="POST",
            body=b'{"note": "\xc3\xa9"}',
            headers={"Content-Type": "application/json; charset=utf-8", "User-Agent": "test", "X-Odd": "1"},
            environ_base={"REMOTE_ADDR": "203.0.113.9"},
        )
        context = event["requestContext"]
        assert isinstance(context.pop("timeEpoch"), int)
        assert context.pop("time").endswith(" +0000")
        assert event == {
            "version": "2.0",
            "routeKey": "$default",
            "rawPath": "/v1/orders",
            "rawQueryString": "",
            "headers": {
                "content-type": "application/json; charset=utf-8",
                "host": "127.0.0.1:8000",
                "user-agent": "test",
                "x-amzn-trace-id": "Root=1",
                "x-forwarded-for": "203.0.113.9",
                "x-forwarded-port": "8000",
                "x-forwarded-proto": "http",
                "x-odd": "1",
            },
            "requestContext": {
                "accountId": "123456789012",
                "apiId": "local",
                "domainName": "127.0.0.1:8000",
                "domainPrefix": "127",
                "http": {
                    "method": "POST",
                    "path": "/v1/orders",
                    "protocol": "HTTP/1.1",
                    "sourceIp": "203.0.113.9",
                    "userAgent": "test",
                },
                "requestId": "r-1",
                "routeKey": "$default",
                "stage": "$default",
            },
            "body": '{"note": "é"}',
            "isBase64Encoded": False,
        }

    @pytest.mark.parametrize(
        ("content_type", "body"),
        [
            ("application/x-www-form-urlencoded", b"a=b"),
            ("application/octet-stream", b"\x00\xff"),
            ("", b"{}"),
            ("application/json", b"\xff is not UTF-8"),
        ],
    )
    def test_a_body_that_is_not_text_is_base64(self, content_type: str, body: bytes) -> None:
        event = event_of(method="POST", body=body, headers={"Content-Type": content_type})
        assert event["isBase64Encoded"] is True
        assert base64.b64decode(event["body"]) == body

    @pytest.mark.parametrize("content_type", ["text/plain", "application/problem+json", "APPLICATION/JSON"])
    def test_a_body_that_is_text_stays_as_it_is(self, content_type: str) -> None:
        event = event_of(method="POST", body=b'{"a":  1}', headers={"Content-Type": content_type})
        assert (event["isBase64Encoded"], event["body"]) == (False, '{"a":  1}')

    def test_without_a_body_there_is_no_such_member(self) -> None:
        assert "body" not in event_of()

    def test_the_path_is_decoded_and_the_query_is_not(self) -> None:
        event = event_of("/v1/products/SER%20UM%2D1?cursor=a%20b&tag=1&tag=2")
        assert event["rawPath"] == "/v1/products/SER UM-1"
        assert event["rawQueryString"] == "cursor=a%20b&tag=1&tag=2"
        assert event["queryStringParameters"] == {"cursor": "a b", "tag": "1,2"}
        assert event["pathParameters"] == {"sku": "SERUM-1"}

    def test_cookies_are_a_list_and_no_header(self) -> None:
        event = event_of(headers={"Cookie": "a=1; b=2"})
        assert event["cookies"] == ["a=1", "b=2"]
        assert "cookie" not in event["headers"]

    def test_every_claim_is_a_string(self) -> None:
        claims = {"sub": "u", "exp": 4_000_000_000, "email_verified": True, "groups": ["a", "b"]}
        assert event_of(claims=claims)["requestContext"]["authorizer"] == {
            "jwt": {
                "claims": {"sub": "u", "exp": "4000000000", "email_verified": "true", "groups": "[a b]"},
                "scopes": None,
            }
        }

    def test_a_public_route_has_no_authorizer(self) -> None:
        assert "authorizer" not in event_of()["requestContext"]


class TestAResponseOfPayloadFormat2:
    def test_status_headers_cookies_and_body_are_passed_on(self) -> None:
        response = response_from(
            json.dumps(
                {
                    "statusCode": 201,
                    "headers": {
                        "content-type": "application/json",
                        "location": "/v1/orders/1",
                        "content-length": "999",
                    },
                    "cookies": ["a=1; Secure", "b=2"],
                    "body": '{"é": 1}',
                    "isBase64Encoded": False,
                }
            ).encode()
        )
        assert response.status_code == 201
        assert response.get_data(as_text=True) == '{"é": 1}'
        assert sorted(response.headers) == [
            ("Content-Length", "9"),
            ("Set-Cookie", "a=1; Secure"),
            ("Set-Cookie", "b=2"),
            ("content-type", "application/json"),
            ("location", "/v1/orders/1"),
        ]

    def test_bytes_travel_as_base64(self) -> None:
        body = base64.b64encode(b"%PDF-\xff").decode()
        response = response_from(json.dumps({"statusCode": 200, "body": body, "isBase64Encoded": True}).encode())
        assert response.get_data() == b"%PDF-\xff"

    def test_an_answer_without_status_is_the_body(self) -> None:
        response = response_from(b'{"hello": "world"}')
        assert (response.status_code, response.content_type, response.json) == (
            200,
            "application/json",
            {"hello": "world"},
        )

    @pytest.mark.parametrize(
        "answer",
        [
            b"",
            b"{",
            b'{"statusCode": "200"}',
            b'{"statusCode": 99}',
            b'{"statusCode": true}',
            b'{"statusCode": 200, "body": {"a": 1}}',
            b'{"statusCode": 200, "headers": [1]}',
            b'{"statusCode": 200, "body": "%", "isBase64Encoded": true}',
        ],
    )
    def test_a_malformed_answer_is_an_error(self, answer: bytes) -> None:
        with pytest.raises(MalformedAnswer):
            response_from(answer)
