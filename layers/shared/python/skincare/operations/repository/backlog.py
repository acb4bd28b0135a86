"""What waits: the outbox, payment events and anomalies."""

from uuid import UUID

from psycopg import Connection
from psycopg.rows import class_row

from skincare.deployment.queues import QueueName
from skincare.operations.models import (
    AnomalyRow,
    CorrectedEventRow,
    FindingRow,
    OutboxState,
    PaymentEventRow,
    PaymentsState,
)
from skincare.operations.repository.events import newest_set_aside

_SET_ASIDE = 50


def outbox(conn: Connection) -> OutboxState:
    """Return how far the outbox is behind, by the database's clock."""
    cur = conn.cursor(row_factory=class_row(OutboxState))
    cur.execute(
        """
        SELECT count(*) FILTER (WHERE due_for IS NOT NULL)::integer AS due,
            count(*) FILTER (WHERE due_for >= interval '2 minutes')::integer AS late,
            extract(epoch FROM greatest(coalesce(max(due_for), '0'), '0'))::double precision AS oldest_lateness_s,
            count(*) FILTER (WHERE due_for IS NOT NULL AND publish_at <= taken_at)::integer AS failing,
            count(*) FILTER (WHERE due_for IS NOT NULL AND queue <> ALL (%(queues)s::text[]))::integer
                AS of_unknown_queues,
            count(*) FILTER (WHERE publish_at <= now() AND due_for IS NULL)::integer AS paused,
            count(*) FILTER (WHERE state = 'pending' AND run_at > now())::integer AS waiting_for_their_time,
            count(*) FILTER (WHERE state <> 'dead_letter')::integer AS live,
            count(*) FILTER (WHERE state = 'dead_letter')::integer AS dead
        FROM (
            SELECT *, make_interval(secs => CASE
                WHEN publish_at > now() THEN NULL
                WHEN state = 'dead_letter' THEN age_s(publish_at)
                WHEN NOT job_is_paused(job_type, queue) THEN job_age_s(job_type, queue, publish_at)
            END) AS due_for
            FROM jobs WHERE publish_at IS NOT NULL AND id = ANY (ARRAY(SELECT job_id FROM job_schedule))
        ) j""",
        {"queues": list(QueueName)},
    )
    found = cur.fetchone()
    assert found is not None  # noqa: S101  an aggregate without GROUP BY answers a row
    return found


def payments(conn: Connection, *, limit: int) -> PaymentsState:
    """Return what of payments waits for a worker or for a person, the oldest first."""
    events = conn.cursor(row_factory=class_row(PaymentEventRow))
    events.execute(
        """
        SELECT id::text, gateway, state, status, order_number, flaw, received_at
        FROM payment_events WHERE state = 'received' OR (state = 'quarantined' AND reviewed_at IS NULL)
        ORDER BY received_at, id LIMIT %(limit)s""",
        {"limit": limit},
    )
    anomalies = conn.cursor(row_factory=class_row(AnomalyRow))
    anomalies.execute(
        """
        SELECT a.id, a.kind, a.task, o.order_number, a.expected_rupiah, a.amount_rupiah,
            a.give_back_rupiah, a.created_at
        FROM payment_anomalies a JOIN orders o ON o.id = a.order_id
        WHERE a.withdrawn_at IS NULL AND a.resolved_at IS NULL ORDER BY a.created_at, a.id LIMIT %(limit)s""",
        {"limit": limit},
    )
    corrected = conn.cursor(row_factory=class_row(CorrectedEventRow))
    corrected.execute(
        """
        SELECT id::text, gateway, order_number, status AS told, amount_rupiah AS told_rupiah,
            confirmed_status AS confirmed, confirmed_amount_rupiah AS confirmed_rupiah, confirmed_at
        FROM payment_events
        WHERE confirmed_status <> status AND status <> 'pending' AND confirmed_at > now() - interval '7 days'
        ORDER BY confirmed_at DESC LIMIT %(limit)s""",
        {"limit": limit},
    )
    counts = conn.execute("""
        SELECT (SELECT count(*) FROM payment_events WHERE state = 'received'),
            (SELECT count(*) FROM payment_events WHERE state = 'quarantined' AND reviewed_at IS NULL),
            (SELECT count(*) FROM payment_anomalies WHERE withdrawn_at IS NULL AND resolved_at IS NULL),
            (SELECT count(*) FROM reconciliation_findings WHERE gone_at IS NULL AND settled_at IS NULL)""").fetchone()
    assert counts is not None  # noqa: S101  a SELECT without FROM answers a row
    unapplied, quarantined, open_anomalies, open_findings = counts
    findings = conn.cursor(row_factory=class_row(FindingRow))
    findings.execute(
        """
        SELECT id, kind, subject, order_number, first_seen_at FROM reconciliation_findings
        WHERE gone_at IS NULL AND settled_at IS NULL ORDER BY first_seen_at, id LIMIT %(limit)s""",
        {"limit": limit},
    )
    return PaymentsState(
        unapplied,
        quarantined,
        open_anomalies,
        tuple(events),
        tuple(anomalies),
        tuple(corrected),
        open_findings,
        tuple(findings),
        tuple(newest_set_aside(conn, limit=_SET_ASIDE)),
    )


def review_event(conn: Connection, event_id: UUID) -> bool:
    """Note that a person has looked at a quarantined event; False where none waits under this id."""
    cur = conn.execute(
        """
        UPDATE payment_events SET reviewed_at = now()
        WHERE id = %(id)s AND state = 'quarantined' AND reviewed_at IS NULL""",
        {"id": event_id},
    )
    return cur.rowcount == 1


def resolve_anomaly(conn: Connection, anomaly_id: int) -> bool:
    """Note that a person has dealt with an anomaly; False where none is open under this number."""
    cur = conn.execute(
        """
        UPDATE payment_anomalies SET resolved_at = now()
        WHERE id = %(id)s AND withdrawn_at IS NULL AND resolved_at IS NULL""",
        {"id": anomaly_id},
    )
    return cur.rowcount == 1
