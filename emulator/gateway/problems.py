"""The answers that the gateway gives by itself when something is wrong: RFC 9457 problems."""

import json

from werkzeug import Response


class Refused(Exception):
    """The gateway answers a problem (RFC 9457) itself."""

    def __init__(self, status: int, code: str, title: str, detail: str) -> None:
        super().__init__(detail)
        self.status = status
        self.code = code
        self.title = title
        self.detail = detail

    def response(self, request_id: str, *, urn: str = "urn:local") -> Response:
        """Return the problem; `urn` begins the names in it."""
        problem = {
            "type": f"{urn}:problem:{self.code}",
            "title": self.title,
            "status": self.status,
            "detail": self.detail,
            "instance": f"{urn}:request:{request_id}",
            "code": self.code,
            "request_id": request_id,
        }
        response = Response(json.dumps(problem), self.status, content_type="application/problem+json")
        if self.status == 401:
            response.headers["WWW-Authenticate"] = "Bearer"
        if self.status == 503:
            response.headers["Retry-After"] = "1"
        return response


def unavailable(detail: str) -> Refused:
    return Refused(503, "unavailable", "Temporarily unavailable", detail)


def failed(detail: str) -> Refused:
    return Refused(500, "internal_error", "Something went wrong", detail)


def malformed(detail: str) -> Refused:
    return Refused(400, "request_malformed", "The request cannot be read", detail)


def no_route() -> Refused:
    return Refused(404, "route_unknown", "No such route", "There is nothing at this path for this method.")


def too_large(limit: int) -> Refused:
    return Refused(413, "body_too_large", "The body is too large", f"At most {limit} bytes.")
