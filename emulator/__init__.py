"""AWS on one machine: Lambda, SQS, API Gateway and what else a serverless system stands on, and a PostgreSQL server.

It knows no product: whoever uses it names functions, queues and routes.
"""
