"""What of payments waits for a worker or for a person, on one screen."""

from cli.ids import shown
from cli.oncall import LOCAL, AsJson, OnCall, Stage
from cli.tables import Rupiah, age, print_json, print_said, print_table


def payment_list(*, stage: Stage = LOCAL, as_json: AsJson = False) -> None:
    """Print events that wait, could not be read or differ from what was confirmed, and open anomalies."""
    from oncall.payment_requests import ShowPayments

    found = OnCall(stage).ask(ShowPayments())
    if as_json:
        print_json(found)
        return
    print(
        f"{found.unapplied} events not applied, {found.quarantined} quarantined, {found.open_anomalies} open anomalies."
    )
    if found.open_findings:
        print(f"{found.open_findings} findings of the reconciliation.")
    if found.events:
        print_said(
            ("event", "gateway", "state", "says", "order", "received", "flaw"),
            [
                (shown(e.id), e.gateway, e.state, e.status, e.order_number, f"{age(e.received_at)} ago", e.flaw)
                for e in found.events
            ],
            title="\nEvents",
        )
    if found.corrected:
        print_table(
            ("event", "gateway", "order", "reported", "amount", "confirmed", "amount", "when"),
            [
                (
                    shown(e.id),
                    e.gateway,
                    e.order_number,
                    e.told,
                    Rupiah(e.told_rupiah),
                    e.confirmed,
                    Rupiah(e.confirmed_rupiah),
                    f"{age(e.confirmed_at)} ago",
                )
                for e in found.corrected
            ],
            title="\nReported otherwise than confirmed, in the last week",
        )
    if found.anomalies:
        print_table(
            ("id", "kind", "task", "order", "expected", "reported", "give back", "found"),
            [
                (
                    a.id,
                    a.kind,
                    a.task,
                    a.order_number,
                    Rupiah(a.expected_rupiah),
                    Rupiah(a.amount_rupiah),
                    Rupiah(a.give_back_rupiah),
                    f"{age(a.created_at)} ago",
                )
                for a in found.anomalies
            ],
            title="\nOpen anomalies",
        )
    if found.findings:
        print_table(
            ("id", "kind", "subject", "order", "since"),
            [(f.id, f.kind, f.subject, f.order_number, f"{age(f.first_seen_at)} ago") for f in found.findings],
            title="\nFindings of the reconciliation",
        )
    if found.set_aside:
        print_table(
            ("event", "gateway", "says", "order", "received"),
            [(shown(e.id), e.gateway, e.status, e.order_number, f"{age(e.received_at)} ago") for e in found.set_aside],
            title="\nSet aside by people in the last 35 days",
        )
