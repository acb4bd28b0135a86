"""Messages that no job can be run for: kept for a release that knows them, then sent where a person looks."""

from skincare.database.connection import Database
from skincare.jobs import envelope
from skincare.jobs.ports import MOST_ATTRIBUTES, OutgoingMessage, Queue, ReceivedMessage
from skincare.jobs.repository import dead_letter
from skincare.jobs.worker.batch import Ack, Redeliver, Unprocessable
from skincare.observability import describe, logger

GIVE_UP_AT_RECEIVE = 10
"""About half an hour of backoff: long enough for a deploy to end."""


class UnprocessableMessages:
    """Sends undecodable messages, unknown job types and unknown jobs to the dead-letter queue."""

    def __init__(self, database: Database, dead_letters: Queue) -> None:
        self._database = database
        self._dead_letters = dead_letters

    def handle(self, message: ReceivedMessage, why: Unprocessable, *, has_time: bool) -> Ack | Redeliver:
        """Dead-letter a message, from its 10th receive on where a newer release may know it, and if there is time.

        A live job of its id is dead-lettered through the ledger; anything else goes to the dead-letter
        queue as it is, and is acked only once it arrived there.
        """
        logger.error(
            "message.unreadable" if why.may_pass else "job.unknown",
            message_id=message.message_id,
            job_id=envelope.job_id_in(message.body),
            receives=message.receive_count,
            reason=why.reason,
        )
        if not has_time or (why.may_pass and message.receive_count < GIVE_UP_AT_RECEIVE):
            return Redeliver()
        try:
            done = (why.may_pass and self._dead_letter_job(message, why)) or self._dead_letter_message(message, why)
        except Exception as error:  # noqa: BLE001  what cannot be dead-lettered now is delivered again
            logger.warning("message.not_dead_lettered", message_id=message.message_id, error=describe(error))
            done = False
        return Ack() if done else Redeliver()

    def _dead_letter_job(self, message: ReceivedMessage, why: Unprocessable) -> bool:
        job_id = envelope.job_id_in(message.body)
        if job_id is None:
            return False
        with self._database.connection() as conn:
            return dead_letter.dead_letter_unreadable(
                conn, job_id, error_class=why.error_class, error_message=why.reason
            )

    def _dead_letter_message(self, message: ReceivedMessage, why: Unprocessable) -> bool:
        ours = {
            "error_class": why.error_class,
            "error_message": why.reason,
            "attempts": str(message.receive_count),
        }
        # What it came with goes along, bytes as base64, as far as a message holds it.
        theirs = [(name, text) for name, text in {**message.attributes, **message.binary_attributes}.items() if text]
        room = MOST_ATTRIBUTES - len(ours)
        return not self._dead_letters.enqueue([OutgoingMessage(message.body, dict(theirs[:room]) | ours)])
