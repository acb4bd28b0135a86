"""Bearer tokens: what an identity provider would sign and the gateway's JWT authorizer checks."""

import time
import uuid
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from joserfc import jwt
from joserfc.errors import ExpiredTokenError, JoseError
from joserfc.jwk import RSAKey

_ALGORITHM = "RS256"
"""HTTP APIs accept RSA signatures only (AWS: "Control access to HTTP APIs with JWT authorizers")."""


class Unauthorized(Exception):
    """The token is missing or must not be trusted; the message says why, without quoting it."""


def new_signing_key() -> dict[str, Any]:
    """Return a private key as a JSON Web Key."""
    return dict(
        RSAKey.generate_key(2048, {"kid": uuid.uuid4().hex, "use": "sig", "alg": _ALGORITHM}).as_dict(private=True)
    )


def check_signing_key(key: Mapping[str, Any]) -> None:
    """Raise ValueError or TypeError where tokens cannot be signed with this key and checked."""
    try:
        issuer = TokenIssuer(key, issuer="https://identity.example.com", audience="nobody")
        issuer.claims(f"Bearer {issuer.issue('buyer@example.com', expires_in=timedelta(minutes=1))}")
    except (JoseError, Unauthorized) as error:
        raise ValueError(f"no signing key ({type(error).__name__})") from None


class TokenIssuer:
    """Signs tokens of one issuer for one audience, and checks them, with one key."""

    def __init__(self, key: Mapping[str, Any], *, issuer: str, audience: str) -> None:
        self._key = RSAKey.import_key(dict(key))
        self._issuer = issuer
        self._audience = audience
        self._rules = jwt.JWTClaimsRegistry(
            leeway=0,
            iss={"essential": True, "value": issuer},
            aud={"essential": True, "value": audience},
            exp={"essential": True},
            sub={"essential": True},
        )

    def issue(self, email: str, *, name: str | None = None, locale: str | None = None, expires_in: timedelta) -> str:
        """Return a token; the same address is the same user, whatever its case."""
        now = int(time.time())
        claims: dict[str, Any] = {
            "iss": self._issuer,
            "aud": self._audience,
            "sub": str(uuid.uuid5(uuid.NAMESPACE_URL, f"mailto:{email.lower()}")),
            "email": email,
            "email_verified": True,
            "iat": now,
            "exp": now + int(expires_in.total_seconds()),
        }
        claims |= {key: value for key, value in {"name": name, "locale": locale}.items() if value is not None}
        return jwt.encode({"alg": _ALGORITHM, "kid": self._key.kid}, claims, self._key)

    def claims(self, authorization: str | None) -> dict[str, Any]:
        """Return the claims of an `Authorization` header; raises `Unauthorized`.

        Signature, algorithm, issuer, audience and times are checked, without leeway.
        """
        scheme, _, token = (authorization or "").partition(" ")
        if scheme.lower() != "bearer" or not token.strip():
            raise Unauthorized("no bearer token")
        try:
            claims = jwt.decode(token.strip(), self._key, algorithms=[_ALGORITHM]).claims
            self._rules.validate(claims)
        except ExpiredTokenError:
            raise Unauthorized("the token has expired") from None
        except (JoseError, ValueError):
            raise Unauthorized("the token is not valid") from None
        return dict(claims)
