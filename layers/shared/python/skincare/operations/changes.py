"""What the on-call engineer may change."""

from skincare.operations.customer_changes import CustomerChanges
from skincare.operations.job_changes import JobChanges
from skincare.operations.mail_changes import MailChanges
from skincare.operations.pause_changes import PauseChanges
from skincare.operations.payment_changes import PaymentChanges
from skincare.operations.stock_changes import StockChanges


class Changes(JobChanges, PauseChanges, PaymentChanges, MailChanges, CustomerChanges, StockChanges):
    """Every change; each is audited in its own transaction."""
