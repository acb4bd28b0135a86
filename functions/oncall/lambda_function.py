"""The on-call function: what a person may do to the private database, and nothing else.

Whoever may invoke it by IAM may use it; nobody else reaches it, for it has no other trigger.
"""

from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from oncall.operations import answer
from skincare.bootstrap import get_app
from skincare.deployment.functions import ONCALL
from skincare.observability import start_invocation


def lambda_handler(event: object, context: LambdaContext) -> dict[str, Any]:
    """Do one operation of docs/operations.md and answer with JSON."""
    start_invocation(aws_request_id=context.aws_request_id)
    return answer(event, lambda: get_app(ONCALL), invocation_id=context.aws_request_id)
