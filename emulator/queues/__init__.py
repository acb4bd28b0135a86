"""What Lambda does between SQS and a function: the event source mapping."""
