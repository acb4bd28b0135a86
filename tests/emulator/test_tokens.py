import base64
import hmac
import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from joserfc import jwt
from joserfc.jwk import RSAKey

from emulator.gateway.tokens import TokenIssuer, Unauthorized, new_signing_key
from tests.emulator.example_api import AUDIENCE, ISSUER

KEY = new_signing_key()
HOUR = timedelta(hours=1)


@pytest.fixture(scope="module")
def issuer() -> TokenIssuer:
    return TokenIssuer(KEY, issuer=ISSUER, audience=AUDIENCE)


def signed(key: dict[str, Any] = KEY, *, algorithm: str = "RS256", **changed: Any) -> str:
    """Return a header with a token that is right but for what is changed; None leaves a claim out."""
    claims = {"iss": ISSUER, "aud": AUDIENCE, "sub": "user-1", "exp": 4_000_000_000} | changed
    claims = {name: value for name, value in claims.items() if value is not None}
    # A key that names its algorithm would refuse to sign with another one.
    signing_key = RSAKey.import_key({name: value for name, value in key.items() if name != "alg"})
    return f"Bearer {jwt.encode({'alg': algorithm}, claims, signing_key, algorithms=[algorithm])}"


def without_signature(header: dict[str, str]) -> str:
    """Return the right claims behind another header, ready for a signature."""
    return f"{_encoded(json.dumps(header).encode())}.{signed().split('.')[1]}"


def unsigned() -> str:
    return f"Bearer {without_signature({'alg': 'none'})}."


def signed_with_the_public_key_as_a_secret() -> str:
    public = RSAKey.import_key(KEY).as_pem(private=False)
    text = without_signature({"alg": "HS256"})
    return f"Bearer {text}.{_encoded(hmac.digest(public, text.encode(), 'sha256'))}"


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


class TestTokens:
    def test_an_issued_token_says_who_the_customer_is(self, issuer: TokenIssuer) -> None:
        token = issuer.issue("buyer@example.com", name="A Buyer", locale="en", expires_in=HOUR)
        claims = issuer.claims(f"Bearer {token}")
        assert (claims["email"], claims["name"], claims["locale"]) == ("buyer@example.com", "A Buyer", "en")
        assert claims["exp"] - claims["iat"] == 3600

    def test_an_address_is_the_same_customer_whenever_it_asks_and_however_it_is_written(
        self, issuer: TokenIssuer
    ) -> None:
        subjects = {
            issuer.claims("Bearer " + issuer.issue(email, expires_in=HOUR))["sub"]
            for email in ("buyer@example.com", "buyer@example.com", "Buyer@Example.COM")
        }
        assert len(subjects) == 1

    def test_the_right_token_in_the_form_of_the_refused_ones_is_accepted(self, issuer: TokenIssuer) -> None:
        assert issuer.claims(signed())["sub"] == "user-1"
        assert issuer.claims(signed().replace("Bearer", "bearer"))["sub"] == "user-1"

    @pytest.mark.parametrize(
        "header",
        [
            pytest.param(lambda: None, id="none"),
            pytest.param(lambda: "", id="empty"),
            pytest.param(lambda: "Bearer", id="no token"),
            pytest.param(lambda: "Bearer é", id="not ascii"),
            pytest.param(lambda: "Bearer a.b.c", id="no json"),
            pytest.param(lambda: signed().replace("Bearer", "Basic"), id="another scheme"),
            pytest.param(lambda: signed() + "," + signed(), id="two of them"),
            pytest.param(lambda: signed(exp=1), id="expired"),
            pytest.param(lambda: signed(exp=None), id="never expires"),
            pytest.param(lambda: signed(nbf=4_000_000_000), id="not yet valid"),
            pytest.param(lambda: signed(iss="https://elsewhere.example.com"), id="another issuer"),
            pytest.param(lambda: signed(aud="elsewhere"), id="another audience"),
            pytest.param(lambda: signed(sub=None), id="nobody"),
            pytest.param(lambda: signed(new_signing_key()), id="another key"),
            pytest.param(lambda: signed(algorithm="RS512"), id="another algorithm"),
            pytest.param(unsigned, id="unsigned"),
            pytest.param(signed_with_the_public_key_as_a_secret, id="the public key as a secret"),
            pytest.param(lambda: signed()[:-4], id="cut off"),
        ],
    )
    def test_any_other_is_refused_without_being_quoted(
        self, issuer: TokenIssuer, header: Callable[[], str | None]
    ) -> None:
        authorization = header()
        with pytest.raises(Unauthorized) as refusal:
            issuer.claims(authorization)
        assert "eyJ" not in str(refusal.value)
