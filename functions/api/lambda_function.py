"""Entry point of the API function."""

from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from api.app import handle
from skincare.bootstrap import get_app
from skincare.deployment.functions import API


def lambda_handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    return handle(event, context, lambda: get_app(API))
