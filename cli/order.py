"""`skincare order SKN-…`: what happened to an order."""

from cli.oncall import LOCAL, AsJson, Exit, OnCall, Stage, end, typed
from cli.parameters import OrderArgument
from cli.tables import print_json
from cli.timelines import print_order


def order(
    number: OrderArgument,
    *,
    stage: Stage = LOCAL,
    as_json: AsJson = False,
) -> None:
    """Print what happened to an order, oldest first, without personal data."""
    from oncall.job_requests import ShowOrder

    timeline = OnCall(stage).ask(typed(ShowOrder, order_number=number))
    if timeline is None:
        end(Exit.NOT_ALL, "There is no such order.")
    if as_json:
        print_json(timeline)
    else:
        print_order(timeline)
