"""Entry point of the API function."""
# ruff: noqa: E402  the collector rests before anything is imported

import gc

# What importing makes stays for good: looking through it again and again is up to a tenth of a start.
gc.disable()

from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from api.app import handle
from skincare.bootstrap import get_app
from skincare.deployment.functions import API

gc.freeze()
gc.enable()


def lambda_handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    return handle(event, context, lambda: get_app(API))
