"""A customer of the deployed shop: signs up in its user pool and orders over its HTTP API."""

import json
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from tests.deploy_check.emulator import Emulator

MAIL = "buyer@example.com"
_PASSWORD = "Correct-horse-battery-9"


class Customer:
    """`outputs` are those of the Api stack."""

    def __init__(self, emulator: Emulator, outputs: Mapping[str, str]) -> None:
        self._emulator = emulator
        # A name below localhost that not every machine resolves: sent as the header that it becomes.
        self._host = urlsplit(outputs["ApiUrl"]).netloc
        self._pool = next(value for name, value in outputs.items() if "UserPoolId" in name)
        self._client = next(value for name, value in outputs.items() if "UserPoolClientId" in name)
        self._token: str | None = None

    def sign_up(self) -> None:
        """Become a customer and get an ID token. The front end would log in by SRP; here the password is sent."""
        users = self._emulator.client("cognito-idp")
        users.sign_up(
            ClientId=self._client,
            Username=MAIL,
            Password=_PASSWORD,
            UserAttributes=[{"Name": "email", "Value": MAIL}],
        )
        users.admin_confirm_sign_up(UserPoolId=self._pool, Username=MAIL)
        users.update_user_pool_client(
            UserPoolId=self._pool,
            ClientId=self._client,
            ExplicitAuthFlows=["ALLOW_USER_PASSWORD_AUTH", "ALLOW_REFRESH_TOKEN_AUTH"],
        )
        answer = users.initiate_auth(
            ClientId=self._client,
            AuthFlow="USER_PASSWORD_AUTH",
            AuthParameters={"USERNAME": MAIL, "PASSWORD": _PASSWORD},
        )
        self._token = answer["AuthenticationResult"]["IdToken"]

    def ask(self, method: str, path: str, body: object = None, **headers: str) -> tuple[int, Any]:
        """Return status and JSON of an answer of the HTTP API."""
        headers |= {"Host": self._host, "Content-Type": "application/json"}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self._emulator.url}{path}", method=method, data=data, headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, json.loads(answer.read())
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read())

    def await_mail(self, order_number: str, *, within_s: float = 60) -> None:
        """Return once the emulator's SES has sent a mail about an order; raises TimeoutError."""
        deadline = time.monotonic() + within_s
        while order_number not in json.dumps(self._emulator.fetch("/_ministack/ses/messages")):
            if time.monotonic() > deadline:
                raise TimeoutError(f"no mail about {order_number}")
            time.sleep(0.2)
