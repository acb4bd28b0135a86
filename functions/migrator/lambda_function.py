"""The migrator: brings the database's schema up to this release, before the other functions get it."""

from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from skincare.bootstrap import owner_conninfo
from skincare.database.iam_login import allow_iam_login
from skincare.database.migrate import migrate
from skincare.observability import logger, start_invocation


def lambda_handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:  # noqa: ARG001  nothing to choose
    """Apply pending migrations as the database's owner; an error fails the deploy."""
    start_invocation(aws_request_id=context.aws_request_id)
    owner = owner_conninfo()
    applied = migrate(owner)
    allow_iam_login(owner)
    logger.info("database.migrated", applied=applied)
    return {"applied": applied}
