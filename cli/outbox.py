"""`skincare outbox`: whether what is due gets published."""

from cli.oncall import LOCAL, AsJson, OnCall, Stage
from cli.tables import duration, print_facts, print_json


def outbox(*, stage: Stage = LOCAL, as_json: AsJson = False) -> None:
    """Print how many jobs are due, how many are late and by how much, and how many cannot be sent."""
    from oncall.job_requests import ShowOutbox

    found = OnCall(stage).ask(ShowOutbox())
    if as_json:
        print_json(found)
        return
    print_facts(
        {
            "due now": found.due,
            "late": f"{found.late} (due for more than two minutes)",
            "the oldest": f"{duration(found.oldest_lateness_s)} late" if found.due else "nothing is due",
            "failing": f"{found.failing} were taken before and could not be sent",
            "unknown queues": f"{found.of_unknown_queues} wait for a release that knows their queue",
            "paused": f"{found.paused} wait for `skincare jobs resume`" if found.paused else None,
            "for later": f"{found.waiting_for_their_time} wait for their time",
            "live jobs": found.live,
            "dead jobs": found.dead,
        }
    )
