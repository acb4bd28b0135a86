"""Writes the table of routes in docs/http.md, made of docs/openapi.json: `python -m infra.routes_page`."""

from pathlib import Path

from infra.routes import ApiRoute, api_routes

_PAGE = Path(__file__).resolve().parents[1] / "docs" / "http.md"
_HEAD = "| route | token | answers | |\n|---|---|---|---|\n"


def page(text: str) -> str:
    """Return the page `text` with a row for each route in place of those that it has."""
    before, _, rest = text.partition(_HEAD)
    _, end, after = rest.partition("\n\n")
    return before + _HEAD + "\n".join(_row(route) for route in api_routes()) + end + after


def _row(route: ApiRoute) -> str:
    token = "" if route.public else "yes"
    return f"| `{route.method} {route.path}` | {token} | {', '.join(map(str, route.statuses))} | {route.summary} |"


if __name__ == "__main__":
    _PAGE.write_text(page(_PAGE.read_text()))
