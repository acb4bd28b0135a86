"""API Gateway: an HTTP API with its routes, its JWT authorizer and its cross-origin answers."""
