"""Messages that no job can be run for: kept for a release that knows them, then sent where a person looks."""

from skincare.database.connection import Database
from skincare.identifiers import JobId
from skincare.jobs import envelope
from skincare.jobs.batch import Batch
from skincare.jobs.ports import MOST_ATTRIBUTES, OutgoingMessage, Queue, ReceivedMessage
from skincare.jobs.repository import dead_letter
from skincare.jobs.retry import backoff_delay
from skincare.observability import describe, logger

GIVE_UP_AT_RECEIVE = 10
"""About half an hour of backoff: long enough for a deploy to end."""


class Unreadable:
    """Decides about undecodable messages, unknown job types and unknown jobs."""

    def __init__(self, database: Database, dead_letters: Queue) -> None:
        self._database = database
        self._dead_letters = dead_letters

    def judge(self, batch: Batch, message: ReceivedMessage, reason: str, *, may_bury: bool = True) -> None:
        """Release an unreadable message with backoff; from its 10th receive on, bury it where there is time.

        A live job of its id is dead-lettered through the ledger; anything else goes to the dead-letter
        queue as it is, and is acked only once it arrived there.
        """
        logger.error("message.unreadable", message_id=message.message_id, receives=message.receive_count, reason=reason)
        if message.receive_count < GIVE_UP_AT_RECEIVE or not may_bury:
            batch.fail_message(message, backoff_delay(message.receive_count))
            return
        try:
            buried = self._bury_job(message, reason) or self._bury_message(message, "MessageUnreadable", reason)
        except Exception as error:  # noqa: BLE001  a message that cannot be buried now is delivered again
            logger.warning("message.not_buried", message_id=message.message_id, error=describe(error))
            buried = False
        if buried:
            batch.acked.append(message)
        else:
            batch.fail_message(message, backoff_delay(message.receive_count))

    def unknown(self, batch: Batch, job_id: JobId) -> None:
        """Send a message whose job the ledger does not have to the dead-letter queue: never drop it silently."""
        logger.error("job.unknown", job_id=job_id)
        for message in batch.copies.pop(job_id, []):
            if self._bury_message(message, "JobUnknown", "job_unknown: the ledger has no such job"):
                batch.acked.append(message)
            else:
                batch.fail_message(message, backoff_delay(message.receive_count))

    def _bury_job(self, message: ReceivedMessage, reason: str) -> bool:
        job_id = envelope.job_id_in(message.body)
        if job_id is None:
            return False
        with self._database.connection() as conn:
            return dead_letter.dead_letter_unreadable(
                conn, job_id, error_class="MessageUnreadable", error_message=reason
            )

    def _bury_message(self, message: ReceivedMessage, error_class: str, reason: str) -> bool:
        ours = {
            "error_class": error_class,
            "error_message": reason,
            "attempts": str(message.receive_count),
        }
        # What it came with goes along, bytes as base64, as far as a message holds it.
        theirs = [(name, text) for name, text in {**message.attributes, **message.binary_attributes}.items() if text]
        room = MOST_ATTRIBUTES - len(ours)
        return not self._dead_letters.enqueue([OutgoingMessage(message.body, dict(theirs[:room]) | ours)])
