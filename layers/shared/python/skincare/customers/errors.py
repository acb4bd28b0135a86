"""Why nothing can be done about a customer."""

from skincare.errors import PermanentError, SkincareError


class ExportNotReady(SkincareError):
    """There is no file of this request: it is no export, is not written yet, or was kept as long as exports are."""

    def __init__(self, request_id: int) -> None:
        super().__init__(f"request {request_id} has no file: it is no export, not written yet, or older than a week")


class ExportTooLarge(PermanentError):
    """One account has more orders than an export may hold."""

    def __init__(self, request_id: int, most: int) -> None:
        super().__init__(f"request {request_id}: the account has more than {most} orders")
