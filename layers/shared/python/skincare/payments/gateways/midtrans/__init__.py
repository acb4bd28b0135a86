"""Midtrans."""
