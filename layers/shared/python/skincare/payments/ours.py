"""Whether a gateway's event can be about us at all."""

from dataclasses import replace

from skincare.identifiers import is_order_number
from skincare.payments.models import EventState, GatewayEvent

NOT_OUR_FORM = "its order number is not of our form"


def of_our_merchant(event: GatewayEvent, ours: str | None) -> GatewayEvent:
    """Flaw an event about another account than ours; without a setting, or where it names none, it may be."""
    if ours is None or event.merchant_id in {None, ours}:
        return event
    return replace(event, flaw="it is about another merchant")


def of_our_form(event: GatewayEvent) -> GatewayEvent:
    """Flaw an event that would wait for an order that can never come; what sets nothing off may name anything."""
    if event.state is not EventState.RECEIVED or event.report is None or is_order_number(event.report.order_number):
        return event
    return replace(event, flaw=NOT_OUR_FORM)
