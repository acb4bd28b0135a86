"""What the on-call engineer may change about jobs, and about messages that belong to none."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from skincare.database.connection import Connection
from skincare.identifiers import JobId
from skincare.jobs.repository import acknowledgements, dead_letter, operations, quarantine
from skincare.jobs.retry import CRASHED
from skincare.operations.audited import AuditedChanges, if_any
from skincare.operations.models import Change
from skincare.operations.queries import run_again
from skincare.operations.repository import dead_jobs, events


class JobChanges(AuditedChanges):
    """What becomes of jobs."""

    def redrive(self, dead_letter_nos: Mapping[JobId, int], *, force: bool, even_crashed: bool) -> Change:
        """Bring back jobs whose `dead_letter_no` is still the one that was looked at, and publish them.

        A type that is not safe to run again is left alone without `force`, and a job that took its worker down time
        after time without `even_crashed`.
        """

        def act(conn: Connection) -> Change:
            causes = dead_jobs.causes_of(conn, list(dead_letter_nos))
            crashed = {job_id for job_id, (_, error) in causes.items() if error == CRASHED and not even_crashed}
            unsafe = {job_id for job_id, (job_type, _) in causes.items() if not (force or run_again(job_type).safe)}
            allowed = [job_id for job_id in causes if job_id not in crashed | unsafe]
            numbers = [dead_letter_nos[job_id] for job_id in allowed]
            redriven = sorted(dead_letter.redrive(conn, allowed, only_at=numbers))
            counts = {
                "redriven": len(redriven),
                "redriven_past_use": len(dead_jobs.obsolete_reasons(conn, redriven)),
                "not_dead_any_more": len(allowed) - len(redriven),
                "needs_force": len(unsafe - crashed),
                "unknown": len(dead_letter_nos) - len(causes),
            }
            return _of_jobs(redriven, counts | if_any(needs_even_crashed=len(crashed)))

        request = {"deaths": _keyed(dead_letter_nos), "force": force, "even_crashed": even_crashed}
        return self._publish(self._do("redrive", request, act))

    def discard(self, dead_letter_nos: Mapping[JobId, int], *, even_paid: bool) -> Change:
        """Cancel jobs whose `dead_letter_no` is still the one that was looked at; a payment event goes with its job.

        Otherwise the event would wait for ever, and a reconciliation would enqueue a job for it again. One that says
        that a customer has paid is left alone without `even_paid`.
        """

        def act(conn: Connection) -> Change:
            moved_on = dead_letter.moved_on(conn, dead_letter_nos)
            still = [job_id for job_id in dead_letter_nos if job_id not in moved_on]
            given_up, paid = _set_aside_events_of(conn, still, even_paid=even_paid)
            wanted = {job_id: number for job_id, number in dead_letter_nos.items() if job_id not in paid}
            hit = sorted(dead_letter.discard(conn, list(wanted), only_at=list(wanted.values())))
            counts = {"discarded": len(hit), "not_dead_any_more": len(wanted) - len(hit)}
            return _of_jobs(hit, counts | if_any(events_set_aside=given_up, needs_even_paid=len(paid)))

        return self._do("discard", {"deaths": _keyed(dead_letter_nos), "even_paid": even_paid}, act)

    def acknowledge(self, dead_letter_nos: Mapping[JobId, int], *, lasts: timedelta) -> Change:
        """Note that somebody knows of dead jobs that still have the dead letter that was looked at."""
        identity, reason = self._caller.claimed_identity, self._reason
        assert reason is not None  # noqa: S101  the request has it

        def act(conn: Connection) -> Change:
            hit = sorted(
                acknowledgements.acknowledge(
                    conn, dead_letter_nos, claimed_identity=identity, reason=reason, lasts=lasts
                )
            )
            return _of_jobs(hit, {"acknowledged": len(hit), "not_dead_any_more": len(dead_letter_nos) - len(hit)})

        request = {"deaths": _keyed(dead_letter_nos), "lasts_s": int(lasts.total_seconds())}
        return self._do("acknowledge", request, act)

    def unacknowledge(self, dead_letter_nos: Mapping[JobId, int]) -> Change:
        """Take back that somebody knows of these dead letters: they count for the alarm again."""

        def act(conn: Connection) -> Change:
            hit = sorted(acknowledgements.withdraw(conn, dead_letter_nos))
            return _of_jobs(hit, {"unacknowledged": len(hit), "not_acknowledged": len(dead_letter_nos) - len(hit)})

        return self._do("unacknowledge", {"deaths": _keyed(dead_letter_nos)}, act)

    def cancel(self, job_ids: Sequence[JobId], *, even_paid: bool) -> Change:
        """Cancel jobs that are not finished; payment events as with `discard`."""

        def act(conn: Connection) -> Change:
            given_up, paid = _set_aside_events_of(conn, job_ids, even_paid=even_paid)
            wanted = [job_id for job_id in job_ids if job_id not in paid]
            hit = sorted(operations.cancel(conn, wanted))
            counts = {"cancelled": len(hit), "finished_or_unknown": len(wanted) - len(hit)}
            return _of_jobs(hit, counts | if_any(events_set_aside=given_up, needs_even_paid=len(paid)))

        return self._do("cancel", _listed(job_ids) | {"even_paid": even_paid}, act)

    def revive(self, job_ids: Sequence[JobId]) -> Change:
        """Bring cancelled jobs back as if they were new, and publish them."""

        def act(conn: Connection) -> Change:
            hit = sorted(operations.revive(conn, job_ids))
            return _of_jobs(hit, {"revived": len(hit), "not_cancelled_or_replaced": len(job_ids) - len(hit)})

        return self._publish(self._do("revive", _listed(job_ids), act))

    def retry_now(self, job_ids: Sequence[JobId]) -> Change:
        """End the wait of jobs for their next attempt, and publish them."""

        def act(conn: Connection) -> Change:
            hit = sorted(operations.retry_now(conn, job_ids))
            return _of_jobs(hit, {"retried": len(hit), "not_waiting_for_a_retry": len(job_ids) - len(hit)})

        return self._publish(self._do("retry_now", _listed(job_ids), act))

    def close_quarantined(self, message_id: int) -> Change:
        """Note that somebody has dealt with a quarantined message, which stays where it is."""

        def act(conn: Connection) -> Change:
            closed = int(quarantine.close(conn, message_id))
            return Change(closed, counts={"closed": closed, "not_waiting": 1 - closed})

        return self._do("close_quarantined", {"message_id": message_id}, act)


def _keyed(dead_letter_nos: Mapping[JobId, int]) -> dict[str, int]:
    return {str(job_id): number for job_id, number in dead_letter_nos.items()}


def _listed(job_ids: Sequence[JobId]) -> dict[str, Any]:
    return {"job_ids": [str(job_id) for job_id in job_ids]}


def _of_jobs(job_ids: Sequence[JobId], counts: Mapping[str, int]) -> Change:
    return Change(len(job_ids), tuple(str(job_id) for job_id in job_ids), counts)


def _set_aside_events_of(conn: Connection, job_ids: Sequence[JobId], *, even_paid: bool) -> tuple[int, set[JobId]]:
    """Give up the events of these jobs; return how many, and the jobs whose event is paid and needs `even_paid`."""
    by_job = events.events_of(conn, job_ids)
    outcomes = events.set_aside(conn, sorted(set(by_job.values())), even_paid=even_paid)
    given_up = sum(outcome == "set_aside" for outcome in outcomes.values())
    return given_up, {job_id for job_id, event in by_job.items() if outcomes.get(event) == "needs_even_paid"}
