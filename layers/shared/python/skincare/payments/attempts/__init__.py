"""Attempts: an order's way to a gateway's page, one open at a time."""
