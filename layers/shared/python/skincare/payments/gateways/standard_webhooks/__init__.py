"""A gateway that speaks our own body (Standard Webhooks)."""
