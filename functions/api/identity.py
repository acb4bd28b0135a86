"""Who is calling, according to the authorizer in front of us. It has checked the token; we only read it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from api.errors import Unauthenticated
from skincare.addresses import EmailAddress, parse_email
from skincare.errors import InvalidInput
from skincare.identifiers import UserId
from skincare.text import flaw

_LONGEST_USER_ID = 255


@dataclass(frozen=True)
class Customer:
    """The owner of a token."""

    user_id: UserId
    claims: Mapping[str, Any] = field(repr=False)

    @property
    def email(self) -> EmailAddress:
        """Where the customer reads mail; raises `InvalidInput` if the token has no address that may be mailed."""
        claim = self.claims.get("email")
        if not isinstance(claim, str) or not claim:
            raise InvalidInput("/claims/email", "is missing from the token")
        # The gateway hands claims on as text. A provider that verifies every address need not say so.
        if "email_verified" in self.claims and str(self.claims["email_verified"]).lower() != "true":
            raise InvalidInput("/claims/email", "is not verified")
        try:
            return parse_email(claim)
        except InvalidInput as error:
            raise InvalidInput("/claims/email", error.message) from None


def customer_of(claims: Mapping[str, Any]) -> Customer:
    """Return the caller; raises `Unauthenticated` without a subject that can be one."""
    subject = claims.get("sub")
    if not isinstance(subject, str) or not 1 <= len(subject) <= _LONGEST_USER_ID or flaw(subject):
        raise Unauthenticated
    return Customer(UserId(subject), claims)
