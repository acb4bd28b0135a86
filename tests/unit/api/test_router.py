"""Which route a method and a path lead to."""

import re
from itertools import combinations
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.app import ROUTER, ROUTES
from api.errors import MethodNotAllowed, RouteUnknown
from api.route import Route

PARAMETER = re.compile(r"{(\w+)}")
# What is left in a segment once it is canonical, which is never nothing.
SEGMENTS = st.text(min_size=1, max_size=30).map(lambda text: quote(text.encode("utf-8", "replace"), safe=""))
METHODS = {route.method for route in ROUTES}


class TestARoute:
    @pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")
    @given(data=st.data())
    def test_is_found_with_whatever_its_path_holds(self, route: Route[Any, Any], data: st.DataObject) -> None:
        values = {name: data.draw(SEGMENTS) for name in PARAMETER.findall(route.path)}
        found, parameters = ROUTER.find(route.method, route.path.format(**values))
        assert (found, parameters) == (route, values)

    @pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")
    @pytest.mark.parametrize("change", ["{}/", "/{}", "{}//", "{}/a/a/a/a"])
    def test_is_not_found_at_a_path_that_only_resembles_its_own(self, route: Route[Any, Any], change: str) -> None:
        with pytest.raises(RouteUnknown):
            ROUTER.find(route.method, change.format(PARAMETER.sub("a", route.path)))

    @pytest.mark.parametrize("path", sorted({route.path for route in ROUTES}))
    def test_names_the_methods_of_its_path_where_another_is_asked_for(self, path: str) -> None:
        allowed = {route.method for route in ROUTES if route.path == path}
        for method in (METHODS | {"TRACE"}) - allowed:
            with pytest.raises(MethodNotAllowed) as refused:
                ROUTER.find(method, PARAMETER.sub("a", path))
            assert refused.value.allowed == tuple(sorted(allowed))


class TestTheRoutes:
    def test_never_match_the_same_path(self) -> None:
        """Then which of them comes first plays no role; a path without parameters comes first everywhere."""
        paths = sorted({route.path for route in ROUTES})
        for one, other in combinations(paths, 2):
            segments = zip(one.split("/"), other.split("/"), strict=False)
            differ = any(a != b and "{" not in a + b for a, b in segments)
            assert differ or one.count("/") != other.count("/") or "{" not in one or "{" not in other, (one, other)
