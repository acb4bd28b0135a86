"""How many requests of customers wait for too long, as a number that an alarm reads."""

from datetime import timedelta
from typing import Final

from skincare.customers import repository
from skincare.database.connection import Database
from skincare.deployment.metrics import Metric

# The team's reading of the law and no legal advice: docs/personal-data.md says so.
EXPORTED_WITHIN: Final = timedelta(days=2)
"""A day before the three that UU 27/2022 gives (Indonesia). An export waits for nothing but its job."""
ERASED_WITHIN: Final = timedelta(days=25)
"""Five days before the month of GDPR, article 12 (3), is over. What an erasure waits for has alarms of its own, but for
goods on their way."""


def customer_gauges(database: Database) -> dict[Metric, float]:
    """Count the exports and erasures that were asked for longer ago than they may take. One statement."""
    with database.connection() as conn:
        overdue = repository.count_overdue(conn, exports_after=EXPORTED_WITHIN, erasures_after=ERASED_WITHIN)
    return {Metric.OVERDUE_CUSTOMER_REQUESTS: overdue}
