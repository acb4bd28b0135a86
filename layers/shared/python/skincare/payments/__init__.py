"""Payments: what gateways tell us, and what follows from it."""
