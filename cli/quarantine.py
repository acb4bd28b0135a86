"""Messages that belong to no job: looked at, and closed when somebody has dealt with them."""

from typing import Annotated

import typer

from cli.oncall import LOCAL, AsJson, Exit, OnCall, Stage, end, of_stage, typed
from cli.parameters import Reason
from cli.tables import print_facts, print_json


def quarantined(
    message: Annotated[int, typer.Argument(metavar="ID", min=1)], *, stage: Stage = LOCAL, as_json: AsJson = False
) -> None:
    """Print a quarantined message in full. Its content comes from outside and is not trusted."""
    from oncall.dead_letter_requests import ShowQuarantined

    found = OnCall(stage).ask(ShowQuarantined(message_id=message))
    if found is None:
        end(Exit.NOT_ALL, "There is no such message.")
    if as_json:
        print_json(found)
        return
    one = found.message
    print_facts({"queue": one.queue, "found": one.found_at, "last found": one.last_found_at, "reason": one.reason})
    print_facts(
        {
            "attributes": "",
            **{f"  {name}": value for name, value in found.attributes.items()},
            **{f"  {name} (base64)": value for name, value in found.binary_attributes.items()},
            "body": found.body,
        }
    )
    print(f'\nNext:\n  skincare dlq close {message} --reason "…"{of_stage(stage)}')


def close(
    message: Annotated[int, typer.Argument(metavar="ID", min=1)],
    *,
    reason: Reason,
    stage: Stage = LOCAL,
    as_json: AsJson = False,
) -> None:
    """Record that a quarantined message was dealt with; it is no longer listed, but kept."""
    from oncall.dead_letter_requests import CloseQuarantined

    oncall = OnCall(stage)
    change = oncall.ask(typed(CloseQuarantined, claimed_identity=oncall.identity, message_id=message, reason=reason))
    if as_json:
        print_json(change.counts)
    else:
        print("Closed." if change.changed else "No such message waits.")
    end(Exit.DONE if change.changed else Exit.NOT_ALL)
