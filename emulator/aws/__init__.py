"""A moto server with SQS, SES, Secrets Manager and S3, and what moto lacks: failures, a mailbox, files that last."""
