"""Finds the route of a request by its method and path."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from api.errors import MethodNotAllowed, RouteUnknown
from api.route import Route

_PARAMETER = re.compile(r"\\{(\w+)\\}")


class Router:
    """The routes by their paths. A path is canonical (`HttpEvent.path`), so each of its segments is plain ASCII.

    No two routes of the API match the same path, so the first that matches is the only one.
    """

    def __init__(self, routes: Iterable[Route[Any, Any]]) -> None:
        by_path: defaultdict[str, dict[str, Route[Any, Any]]] = defaultdict(dict)
        for route in routes:
            by_path[route.path][route.method] = route
        self._fixed = {path: methods for path, methods in by_path.items() if "{" not in path}
        self._patterns = [(_pattern(path), methods) for path, methods in by_path.items() if "{" in path]

    def find(self, method: str, path: str) -> tuple[Route[Any, Any], Mapping[str, str]]:
        """Return the route and the values of its path's parameters, still percent-encoded.

        Raises `RouteUnknown`, or `MethodNotAllowed` with the methods that the path does have.
        """
        methods, parameters = self._match(path)
        route = methods.get(method)
        if route is None:
            raise MethodNotAllowed(tuple(sorted(methods))) if methods else RouteUnknown()
        return route, parameters

    def _match(self, path: str) -> tuple[Mapping[str, Route[Any, Any]], Mapping[str, str]]:
        if path in self._fixed:
            return self._fixed[path], {}
        for pattern, methods in self._patterns:
            if match := pattern.fullmatch(path):
                return methods, match.groupdict()
        return {}, {}


def _pattern(path: str) -> re.Pattern[str]:
    return re.compile(_PARAMETER.sub(r"(?P<\1>[^/]+)", re.escape(path)))
