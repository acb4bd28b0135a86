"""What can be wrong with a request before any of our services sees it."""

from dataclasses import dataclass

from skincare.errors import SkincareError


@dataclass(frozen=True)
class FieldError:
    """One broken rule. `pointer` is a JSON pointer into the body, or starts with /path, /query, /headers or
    /claims. Neither repeats what was sent."""

    pointer: str
    message: str
    code: str | None = None


class RequestMalformed(SkincareError):
    """The request cannot be read."""


class IdempotencyKeyMissing(SkincareError):
    """The route needs the header Idempotency-Key."""

    def __init__(self) -> None:
        super().__init__("the header Idempotency-Key is missing")


class IdempotencyKeyInvalid(SkincareError):
    """The header Idempotency-Key is not one key."""

    def __init__(self) -> None:
        super().__init__(
            "the header Idempotency-Key is not 1 to 255 visible ASCII characters without a comma, "
            "bare or in double quotes"
        )


class BodyTooLarge(SkincareError):
    """The body is longer than we read."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"the body is longer than {limit} bytes")


class MediaTypeUnsupported(SkincareError):
    """The body is not sent as JSON."""

    def __init__(self) -> None:
        super().__init__("the content type is not application/json")


class RequestInvalid(SkincareError):
    """The request can be read and breaks rules."""

    def __init__(self, errors: tuple[FieldError, ...]) -> None:
        super().__init__(f"{len(errors)} fields are invalid")
        self.errors = errors


class Unauthenticated(SkincareError):
    """The authorizer passed nothing usable about the caller."""

    def __init__(self) -> None:
        super().__init__("the request carries no usable token")


class RouteUnknown(SkincareError):
    """No route has this path."""

    def __init__(self) -> None:
        super().__init__("there is no such route")


class MethodNotAllowed(SkincareError):
    """The path exists with other methods."""

    def __init__(self, allowed: tuple[str, ...]) -> None:
        super().__init__(f"the path answers to {', '.join(allowed)}")
        self.allowed = allowed
