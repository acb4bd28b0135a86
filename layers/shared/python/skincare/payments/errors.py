"""Why a webhook was not taken."""

from skincare.errors import SkincareError, TransientError


class SignatureInvalid(SkincareError):
    """Nothing proves that the gateway sent this; the reason names what was looked at, never what was sent."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"the webhook is not signed: {reason}")


class WebhookMalformed(SkincareError):
    """The body is not a JSON object, so that nothing in it can be found."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"the webhook cannot be read: {reason}")


class GatewayUnknown(SkincareError):
    """No gateway of this name sends us anything. The name is not repeated: a stranger typed it."""

    def __init__(self) -> None:
        super().__init__("there is no such payment gateway")


class SecretsUnavailable(TransientError):
    """The signing secrets cannot be had now, so that nobody can tell a true event from a forged one."""

    def __init__(self, gateway: str, reason: str) -> None:
        super().__init__(f"no signing secrets of {gateway}: {reason}")
