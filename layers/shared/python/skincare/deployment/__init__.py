"""What stands on AWS, as facts: queues, functions, alarms, metrics and limits. Only the standard library is imported.

`infra`, the local system, tests and documents loop over these tables, and nothing here runs.
"""
