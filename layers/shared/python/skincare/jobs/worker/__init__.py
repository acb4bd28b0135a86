"""What works off a queue. `Worker` is all of it that others need; its parts return decisions, and it applies them."""

from skincare.jobs.worker.worker import Worker as Worker
