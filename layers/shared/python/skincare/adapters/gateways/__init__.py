"""Clients of the payment gateways' own APIs, one module each."""
