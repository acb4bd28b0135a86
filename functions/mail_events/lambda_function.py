"""What SES tells about mails that it sent: addresses that shall get none any more are remembered."""

from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from skincare.adapters.ses_events import MailEventMalformed, failures_in, message_id_of
from skincare.bootstrap import get_app
from skincare.deployment.functions import MAIL_EVENTS
from skincare.notifications.suppression import is_our_fault, suppress
from skincare.observability import logger, start_invocation


def lambda_handler(event: dict[str, Any], context: LambdaContext) -> dict[str, int]:
    """Take one event of EventBridge; an error lets Lambda bring it again, and the same event twice does no harm."""
    start_invocation(aws_request_id=context.aws_request_id)
    try:
        failures, message_id = failures_in(event), message_id_of(event)
    except MailEventMalformed as error:
        logger.error("mail_event.malformed", reason=str(error))
        return {"suppressed": 0}
    for failure in filter(is_our_fault, failures):
        # An alarm counts this event.
        logger.error("mail_event.ours_to_mend", provider_message_id=message_id, status=failure.status)
    suppressed = suppress(failures, database=get_app(MAIL_EVENTS).database)
    logger.info("mail_event.taken", provider_message_id=message_id, recipients=len(failures), suppressed=suppressed)
    return {"suppressed": suppressed}
