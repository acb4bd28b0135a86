"""What a failed call of SQS means.

The throttling codes are those of the SQS API model and of the errors that all AWS services share.
"""

_THROTTLED = {"OverLimit", "RequestThrottled", "KmsThrottled", "Throttling", "ThrottlingException"}


class CallFailed(Exception):
    """A call that failed as a whole. `service_down`: the next one would most likely fail too."""

    def __init__(self, code: str, *, service_down: bool) -> None:
        super().__init__(code)
        self.code = code
        self.service_down = service_down

    @staticmethod
    def by_service(code: str, status: int) -> "CallFailed":
        """Return what an error that SQS answered with this HTTP status amounts to."""
        return CallFailed(code, service_down=status >= 500 or status == 429 or code in _THROTTLED)
