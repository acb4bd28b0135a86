"""The timeline of a job or an order on one screen."""

import json
from typing import TYPE_CHECKING
from uuid import UUID

from cli.oncall import Exit, OnCall, end
from cli.tables import print_facts, print_json, print_table
from skincare.moments import shown as moment
from skincare.money import rupiah

if TYPE_CHECKING:
    from skincare.jobs.models import Acknowledgement
    from skincare.operations.models import OrderTimeline


def print_job(oncall: OnCall, job_id: UUID, *, as_json: bool) -> None:
    """Print everything about one job; ends the command where there is none."""
    from oncall.job_requests import ShowJob

    timeline = oncall.ask(ShowJob(job_id=job_id))
    if timeline is None:
        end(Exit.NOT_ALL, "The ledger has no such job.")
    if as_json:
        print_json(timeline)
        return
    job = timeline.job
    print_facts(
        {
            "job": job.id,
            "type": job.type,
            "state": job.state,
            "paused": "; ".join(timeline.pauses) or None,
            "order": job.order_number,
            "request": job.request_id,
            "payload": json.dumps(timeline.payload),
            "enqueued": job.created_at,
            "runs at": job.run_at,
            "tried again at": job.retry_at,
            "ended": job.finished_at,
            "attempts": f"{job.attempts} since it was enqueued or redriven, {job.crashes} crashes",
            "dead-lettered": f"{job.dead_letter_no} times",
            "last error": f"{job.error_class}: {job.error_message}" if job.error_class else None,
            "release": timeline.release,
            "run again?": f"{'yes' if timeline.safe else 'no'}: {timeline.why}",
            "left to do": f"nothing: {timeline.past_use}" if timeline.past_use else None,
            "acknowledged": _acknowledged(timeline.acknowledgement) if timeline.acknowledgement else None,
        }
    )
    print_table(
        ("started", "ended", "outcome", "release", "error"),
        [
            (
                a.started_at,
                a.finished_at,
                a.outcome,
                a.release,
                f"{a.error_class}: {a.error_message}" * bool(a.error_class),
            )
            for a in timeline.attempts
        ],
        title="\nAttempts",
    )
    if timeline.order:
        print()
        print_order(timeline.order)


def _acknowledged(known: "Acknowledgement") -> str:
    return f"{moment(known.at)} by {known.by} until {moment(known.until)}: {known.reason}"


def print_order(order: "OrderTimeline") -> None:
    """Print what happened to an order, oldest first."""
    print(f"Order {order.order_number}: {order.status}, {rupiah(order.total_rupiah)}")
    print_table(("when", "what", "detail"), [(each.at, each.what, each.detail) for each in order.happenings])
