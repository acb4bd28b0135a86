"""Is the system up? The deployed route speaks for the API and its database."""

from dataclasses import dataclass

from api.route import Request, Route
from api.schemas import HealthAnswer
from skincare.app import App


@dataclass(frozen=True)
class Health:
    status: str


def show_health(_: Request[None, None], app: App) -> Health:
    """Tell whether the API and its database answer."""
    with app.database.connection() as conn:
        conn.execute("SELECT 1")
    return Health("ok")


ROUTES = (Route[None, None]("GET", "/health", show_health, HealthAnswer, public=True),)
